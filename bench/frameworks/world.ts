import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  textField,
} from "../../packages/palimpsest/src/schema/json.ts";
import { type Fact, facts, type ModelRecord, outputTokens, scriptedModel, windowTokens } from "./task.ts";

/** What a run costs, as the API's side sees it. */
export interface Traffic {
  requests: number;
  refusals: number;
  tokens: number;
  dollars: number;
  /** The message of the latest refusal. */
  refusal: string;
  /** Why the latest reply ended, if it was cut off. */
  cutOff: string;
}

/** An API with a strict window, and what a run needs of it. */
export interface World {
  readonly fetch: typeof fetch;
  readonly traffic: Traffic;
  readonly record: ModelRecord;
}

/** What a way of running adds: our `recall`, if the run had a context. It is asked when the run is over. */
export interface RunEnd {
  readonly recall?: ((query: string) => Promise<readonly { readonly snippet: string }[]>) | undefined;
  readonly close?: (() => Promise<void>) | undefined;
}

/** One way of running the task in a framework: a row of the table. */
export interface FrameworkRun {
  readonly framework: string;
  readonly way: string;
  /** `plain`: without us; `own`: with the framework's own remedy; `ours`: with our one line. */
  readonly kind: "plain" | "own" | "ours";
  readonly run: (world: World) => Promise<RunEnd>;
}

export interface RunResult {
  readonly framework: string;
  readonly way: string;
  readonly kind: FrameworkRun["kind"];
  readonly outcome: string;
  readonly record: ModelRecord;
  readonly traffic: Traffic;
  readonly recallable: readonly Fact[];
}

/** The models' windows, made smaller; everything else about them is as it is. */
export const benchModels = { anthropic: "claude-sonnet-5-5", openai: "gpt-5", langchain: "claude-sonnet-4-5" } as const;

export async function measureRun({ framework, way, kind, run }: FrameworkRun): Promise<RunResult> {
  const world = openWorld();
  const { record, traffic } = world;
  const end = await run(world).then(
    (ended) => ({ ...ended, error: undefined }),
    (error: unknown): RunEnd & { readonly error: string } => ({ error: String(error) }),
  );
  const recallable = end.recall === undefined ? [] : await findRecallable(end.recall);
  await end.close?.();
  const outcome = describeOutcome({ record, traffic, error: end.error });
  return { framework, way, kind, outcome, record, traffic, recallable };
}

function describeOutcome(ended: {
  readonly record: ModelRecord;
  readonly traffic: Traffic;
  readonly error: string | undefined;
}): string {
  const { record, traffic, error } = ended;
  const done = record.editsRight + record.editsWrong;
  if (record.finished && record.editsWrong > 0) return `finished, ${record.editsWrong} edits without the user's rule`;
  if (record.finished) return "finished";
  if (traffic.refusal !== "") return `failed after ${done} files: ${traffic.refusal.slice(0, refusalCharsMax)}`;
  if (error === undefined) return `stopped after ${done} files, without an error: ${traffic.cutOff}`;
  return `failed after ${done} files: ${error.slice(0, refusalCharsMax)}`;
}

const refusalCharsMax = 60;

function openWorld(): World {
  const { responder, record } = scriptedModel();
  const models = Object.values(benchModels).map((id) => {
    return {
      id,
      windowTokens,
      outputTokensMax: outputTokens,
      ...(id.startsWith("gpt") ? { inputTokensMax: windowTokens } : {}),
    };
  });
  const traffic: Traffic = { requests: 0, refusals: 0, tokens: 0, dollars: 0, refusal: "", cutOff: "" };
  const inner = simulatorFetch(new Simulator({ responder, models, seed: 1 }));
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const response = await inner(url, init);
    count(traffic, { response, body: readBody(await response.clone().text()) });
    return response;
  };
  return { fetch, traffic, record };
}

/** The reply; of a stream of the Messages API, how it ended and what it cost. */
function readBody(text: string): Json {
  if (!text.startsWith("event:")) return parseJson(text);
  const events = text.split("\n").flatMap((line) => (line.startsWith("data:") ? [parseJson(line.slice(5))] : []));
  const replies = events
    .filter(isObject)
    .flatMap((event) => [field(event, "message"), event, field(event, "delta")])
    .filter((value) => isObject(value));
  const usages = replies.map((reply) => field(reply, "usage")).filter((value) => isObject(value));
  return { ...mergeFields(replies), usage: mergeFields(usages) };
}

const mergeFields = (objects: readonly JsonObject[]): JsonObject =>
  Object.fromEntries(objects.flatMap((one) => Object.entries(one)));

function count(traffic: Traffic, { response, body }: { readonly response: Response; readonly body: Json }): void {
  traffic.requests += 1;
  traffic.dollars += Number(response.headers.get("x-simulator-cost-usd") ?? 0);
  if (response.ok) {
    if (!isObject(body)) return;
    traffic.tokens += usageTokens(field(body, "usage"));
    const details = field(body, "incomplete_details");
    const stop = isObject(details) ? field(details, "reason") : field(body, "stop_reason");
    traffic.cutOff = typeof stop === "string" ? stop : "";
    return;
  }
  const error = isObject(body) ? field(body, "error") : undefined;
  traffic.refusals += 1;
  traffic.refusal = (isObject(error) ? textField(error, "message") : undefined) ?? JSON.stringify(body);
}

/** All that was read and written, in the form of either API. With a compaction, that of each iteration. */
function usageTokens(usage: Json | undefined): number {
  if (!isObject(usage)) return 0;
  const iterations = field(usage, "iterations");
  if (isArray(iterations) && iterations.length > 0)
    return iterations.reduce<number>(
      (sum, one) => sum + usageTokens(isObject(one) ? { ...one, iterations: [] } : undefined),
      0,
    );
  return usageFields.reduce((sum, name) => sum + Number(field(usage, name) ?? 0), 0);
}

const usageFields = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens",
  "prompt_tokens",
  "completion_tokens",
];

async function findRecallable(recall: NonNullable<RunEnd["recall"]>): Promise<readonly Fact[]> {
  const found: Fact[] = [];
  for (const fact of facts)
    if ((await recall(fact.about)).some(({ snippet }) => snippet.includes(fact.value))) found.push(fact);
  return found;
}

import { z } from "zod";
import { tryParseJson } from "../../packages/palimpsest/src/schema/json.ts";
import type { TraceRequest } from "../../packages/simulator/src/trace/read-trace.ts";
import type { RealClient } from "../real-clients/client.ts";
import { expectedAnswer } from "../real-clients/scenario.ts";
import { type LongRun, wayNames, type Way } from "./run-long-task.ts";

const count = z.number();

/** A line of `--rows`. */
export const longRow = z.object({
  client: z.string(),
  version: z.string(),
  model: z.string(),
  way: z.enum(wayNames),
  rounds: count,
  windowTokens: count,
  finished: z.boolean(),
  /** That reached the model's API. */
  requests: count,
  /** With a reply that had usage. */
  answered: count,
  refused: count,
  /** Why, and how often. */
  refusals: z.record(z.string(), count),
  /** Of all prompts. */
  inputTokens: count,
  readTokens: count,
  writtenTokens: count,
  outputTokens: count,
  /** The largest prompt. */
  promptTokensMax: count,
  costUsd: count,
  wallMillis: count,
  gateway: z
    .object({
      failedOpen: count,
      gatewayErrors: count,
      /** Requests of each conversation, most first. */
      conversations: z.array(count),
      edits: count,
      messages: z.array(z.string()),
    })
    .optional(),
  problems: z.array(z.string()),
});
export type LongRow = z.infer<typeof longRow>;

interface JudgeInput {
  readonly client: RealClient;
  readonly version: string;
  readonly model: string;
  readonly way: Way;
  readonly rounds: number;
  readonly run: LongRun;
}

export function judgeLongRun(input: JudgeInput): LongRow {
  const { client, run, way } = input;
  const { requests } = run.trace;
  const sum = (value: (request: TraceRequest) => number | undefined): number =>
    requests.reduce((total, request) => total + (value(request) ?? 0), 0);
  const refused = requests.filter(({ reply }) => reply?.outcome === "refused");
  const row: LongRow = {
    client: client.name,
    version: input.version,
    model: requests.at(-1)?.model ?? input.model,
    way,
    rounds: input.rounds,
    windowTokens: run.windowTokens,
    finished: run.exitCode === 0 && run.answer.text === expectedAnswer,
    requests: requests.length,
    answered: requests.filter(({ reply }) => reply?.usage !== undefined).length,
    refused: refused.length,
    refusals: countBy(refused.map(({ reply }) => (reply?.error?.message ?? "?").slice(0, refusalCharsMax))),
    inputTokens: sum(promptTokens),
    readTokens: sum(({ reply }) => reply?.usage?.cache_read_input_tokens),
    writtenTokens: sum(({ reply }) => reply?.usage?.cache_creation_input_tokens),
    outputTokens: sum(({ reply }) => reply?.usage?.output_tokens),
    promptTokensMax: Math.max(0, ...requests.map(promptTokens)),
    costUsd: sum(({ reply }) => reply?.costUsd),
    wallMillis: Math.round(run.wallMillis),
    gateway: readGateway(run),
    problems: [],
  };
  return { ...row, problems: findProblems(client, row) };
}

const refusalCharsMax = 160;

function readGateway({ gateway }: LongRun): LongRow["gateway"] {
  if (gateway === undefined) return undefined;
  return {
    failedOpen: gateway.failedOpen,
    gatewayErrors: gateway.gatewayErrors,
    conversations: gateway.conversations.map(({ requests }) => requests).toSorted((one, other) => other - one),
    edits: gateway.conversations.reduce((total, { edits }) => total + edits, 0),
    messages: gateway.log
      .split("\n")
      .map(tryParseJson)
      .flatMap((event) => failure.safeParse(event).data ?? [])
      // Codex tries a WebSocket first and goes on with HTTP.
      .filter(({ message }) => !message.includes("WebSocket"))
      .map(({ kind, step = "", message }) => `${kind} ${step}: ${message}`)
      .slice(0, messagesMax),
  };
}

const failure = z.object({
  kind: z.enum(["failed-open", "bug", "refused"]),
  step: z.string().optional(),
  message: z.string(),
});
const messagesMax = 5;

const promptTokens = ({ reply }: TraceRequest): number =>
  reply?.usage === undefined
    ? 0
    : reply.usage.input_tokens + reply.usage.cache_creation_input_tokens + reply.usage.cache_read_input_tokens;

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** A conversation with more requests than this is one of the loop; titles and counts have one or two. */
const sideRequestsMax = 5;

function findProblems({ refusals = [] }: RealClient, row: LongRow): string[] {
  const unexplained = Object.entries(row.refusals).filter(
    ([message]) => !refusals.some((known) => known.message.test(message)),
  );
  const loops = row.gateway?.conversations.filter((requests) => requests > sideRequestsMax).length ?? 1;
  return [
    ...(row.finished ? [] : ["did not finish"]),
    ...unexplained.map(([message, times]) => `refused ${times} times: ${message}`),
    ...(loops === 1 ? [] : [`its loop is ${loops} conversations`]),
    ...((row.gateway?.failedOpen ?? 0) === 0 ? [] : [`failed open ${row.gateway?.failedOpen} times`]),
    ...(row.gateway?.messages ?? []),
  ];
}

import { RequestSerializer } from "../../cache/request-serializer.ts";
import {
  messageFrameTokens,
  plainMarginTokens,
  plainRetryLimits,
  plainSilenceMillisMax,
  plainTimeMillisMax,
  summaryOutputShareMax,
  summaryOutputTokensMax,
} from "../../layers/4-compact/limits.ts";
import { abortedFailure, brokenStream } from "../../model/failure.ts";
import { nextTry } from "../../model/next-try.ts";
import type { ModelFailure, ModelRequest, SummaryAnswer, SummaryCall, Summariser } from "../../ports/model-port.ts";
import type { Block, Message } from "../../schema/block.ts";
import { type Millis, tokens } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { Calibration } from "../../tokens/calibration.ts";
import { measureBlock } from "../../tokens/byte-counts.ts";
import { tokensFromBytes } from "../../tokens/estimate-block.ts";
import type { ToolDefinition } from "../../tokens/fixed-part.ts";
import { wireModel } from "../../tokens/known-models.ts";
import type { ModelCallDeps } from "../deps.ts";
import { TimeLimit } from "../time-limit.ts";

type PlainSummariserDeps = Omit<ModelCallDeps, "retries">;

export interface PlainSummariserOptions {
  readonly model: string;
  readonly windowTokens: number;
  /** The model's limit. */
  readonly outputTokensMax: number;
  /** The model's limit for the input alone, if it has one. */
  readonly inputTokensMax?: number | undefined;
  readonly betas?: readonly string[] | undefined;
  /** Counts with the rates learned from this model; by default with the usual rates, padded. */
  readonly count?: ((block: Block) => number) | undefined;
  /** Tries of one call, if fewer than usual. */
  readonly triesMax?: number | undefined;
  /** For all tries of one call; by default the named limits. */
  readonly timeMillisMax?: Millis | undefined;
  readonly silenceMillisMax?: Millis | undefined;
}

/** Calls a model through its port, outside of any conversation: no cache is read or written. */
export function plainSummariser(deps: PlainSummariserDeps, options: PlainSummariserOptions): Summariser {
  const { model, count = createFirstCounter() } = options;
  const { windowTokens, inputTokensMax = windowTokens } = options;
  const outputTokensMax = outputLimit(options);
  const room = windowTokens - outputTokensMax - plainMarginTokens;
  const { timeMillisMax = plainTimeMillisMax, silenceMillisMax = plainSilenceMillisMax } = options;
  const triesMax = Math.min(options.triesMax ?? Infinity, plainRetryLimits.triesMax);
  return {
    model,
    outputTokensMax,
    inputTokensMax: tokens(Math.max(0, Math.min(room, inputTokensMax - plainMarginTokens))),
    count: ({ content }) => content.reduce<number>((sum, block) => sum + count(block), messageFrameTokens),
    ask: async (call, signal) => {
      const limit = new TimeLimit(deps, { timeMillisMax, silenceMillisMax, signal });
      try {
        const request = buildRequest(call, { ...options, outputTokensMax });
        return await askWithRetries(deps, { request, onText: call.onText, limit, triesMax });
      } catch (error) {
        return { kind: "failed", failure: brokenStream(`The summariser broke off: ${String(error)}`) };
      } finally {
        limit.end();
      }
    },
  };
}

function createFirstCounter(): (block: Block) => number {
  const { rates } = new Calibration();
  return (block) => tokensFromBytes(measureBlock(block), rates);
}

const outputLimit = ({ windowTokens, outputTokensMax }: PlainSummariserOptions): number =>
  Math.floor(Math.min(summaryOutputTokensMax, outputTokensMax, windowTokens * summaryOutputShareMax));

interface AskInput {
  readonly request: ModelRequest;
  readonly onText: SummaryCall["onText"];
  readonly limit: TimeLimit;
}

async function askWithRetries(
  deps: PlainSummariserDeps,
  { triesMax, ...input }: AskInput & { readonly triesMax: number },
): Promise<SummaryAnswer> {
  const { limit } = input;
  const limits = { ...plainRetryLimits, triesMax };
  const wasted: JsonObject[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askOnce(deps, input);
    if (answer.kind === "answered") return { ...answer, wasted };
    const failure = nameTimeout(answer.failure, limit);
    const next = nextTry({ failure, attempt, random: deps.random(), limits });
    if (next.kind === "give-up") return { ...answer, failure: { ...failure, message: next.message }, wasted };
    if (answer.usage !== undefined) wasted.push(answer.usage);
    await deps.wait(next.ms, limit.signal);
    if (limit.signal.aborted) return { kind: "failed", failure: nameTimeout(abortedFailure, limit), wasted };
  }
}

async function askOnce(deps: PlainSummariserDeps, { request, onText, limit }: AskInput): Promise<SummaryAnswer> {
  const blocks: Block[] = [];
  let startUsage: JsonObject | undefined;
  for await (const event of deps.model.send(request, limit.signal)) {
    limit.heard();
    switch (event.kind) {
      case "reply-start":
        startUsage = event.usage;
        break;
      case "text-delta":
        onText?.(event.text);
        break;
      case "thinking-delta":
      case "input-delta":
        break;
      case "block-end":
        blocks.push(event.block);
        break;
      case "reply-end": {
        const { stopReason, usage } = event;
        return { kind: "answered", text: joinText(blocks), stopReason, blocks, usage };
      }
      case "failure":
        return { kind: "failed", failure: event.failure, ...(startUsage === undefined ? {} : { usage: startUsage }) };
    }
  }
  throw new Error("a model ended without a reply and without a failure");
}

const joinText = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

/** A model that we stopped reports an abort, but the caller did not abort it: it was a timeout. */
function nameTimeout(failure: ModelFailure, { exceeded }: TimeLimit): ModelFailure {
  if (failure.why !== "aborted" || exceeded === undefined) return failure;
  return { why: "timeout", retry: "never", message: `The summariser was stopped. ${exceeded}` };
}

function buildRequest(call: SummaryCall, { model, betas = [], outputTokensMax }: PlainSummariserOptions): ModelRequest {
  const { system, messages } = call;
  const tools = toolsFor(messages);
  return {
    model,
    maxTokens: Math.min(call.outputTokensMax, outputTokensMax),
    tools,
    system: [{ type: "text", text: system }],
    messages,
    breakpoints: [],
    params: { stream: true, ...(tools.length === 0 ? {} : { tool_choice: { type: "none" } }) },
    pieces: new RequestSerializer(),
    betas: [...new Set([...betas, ...wireModel(model).betas])],
  };
}

/**
 * Providers accept calls and results only if the request defines tools, but do not check which. One definition without a
 * description is enough and costs least.
 */
function toolsFor(messages: readonly Message[]): readonly ToolDefinition[] {
  for (const { content } of messages)
    for (const block of content)
      if (block.type === "tool_use") return [{ name: toToolName(block.name), input_schema: { type: "object" } }];
  return [];
}

/** A call's name may be longer than some providers allow for a tool. */
const toToolName = (name: string): string => (/^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : "tool");

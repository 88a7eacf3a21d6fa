import { canServerCompact, serverCompactionOptions } from "../../layers/4-compact/compact-when-due.ts";
import { fetchOffers } from "../../layers/server/run-offers.ts";
import type { ServerOptions } from "../../layers/server/server-use.ts";
import { nextTry } from "../../model/next-try.ts";
import type { ModelFailure, ModelRequest } from "../../ports/model-port.ts";
import { type Block, type PassthroughBlock, compactionBlockText } from "../../schema/block.ts";
import { tokens, type ToolUseId } from "../../schema/brand.ts";
import type { CompactionCall, CompactionFailure } from "../../schema/compaction-cause.ts";
import type { JsonObject } from "../../schema/json.ts";
import { estimateShown } from "../../tokens/estimate-block.ts";
import { firstMessages, type MessagesReach } from "../../transcript/first-messages.ts";
import type { Conversation } from "../conversation.ts";
import type { ModelCallDeps, ResolvedSettingsDep } from "../deps.ts";
import { forkBreakpoints } from "../../cache/fork-breakpoints.ts";
import { ForkLine } from "../fork-line.ts";
import { serverWant } from "../request/pipeline-state.ts";
import { assembleRequest, serverOptions } from "../request/assemble-request.ts";
import { TimeLimit } from "../time-limit.ts";
import { serverCallLimits } from "./limits.ts";

export interface ServerCall {
  readonly conversation: Conversation;
  /** Replaces the provider's own prompt; blank: the provider's prompt is used. */
  readonly instructions: string;
  /** How much is summarised; must end a round. By default everything. */
  readonly reach?: MessagesReach | undefined;
  readonly signal: AbortSignal;
  /** Called once with the whole text: the provider does not stream it. */
  readonly onText?: ((text: string) => void) | undefined;
}

export type ServerSummaryOutcome =
  | {
      readonly kind: "block";
      /** Signed: must be sent back unchanged, in front of everything. */
      readonly block: PassthroughBlock;
      readonly model: string;
      /** The text of the block. */
      readonly text: string;
      readonly calls: readonly CompactionCall[];
    }
  | {
      readonly kind: "failed";
      readonly reason: CompactionFailure;
      /** One line for the user. */
      readonly message: string;
      readonly calls: readonly CompactionCall[];
    };

type ServerCallDeps = ModelCallDeps & ResolvedSettingsDep;

/**
 * Requests the provider's own summary of a conversation. The request is the conversation's next one, byte for byte up to
 * its last message, so that it is read from the cache; it writes nothing there. Books its cost. Must not reject.
 */
export async function askServerSummary(deps: ServerCallDeps, call: ServerCall): Promise<ServerSummaryOutcome> {
  return new ServerCallRun(deps, call).run();
}

/** Fetches what the model offers, if it is not known yet: the user may compact before any request. Must not reject. */
export async function mayAskServer(deps: ServerCallDeps, { conversation, signal }: ServerOfferInput): Promise<boolean> {
  const { cache } = conversation;
  const line = conversation.line.editable;
  if (line === undefined || cache === undefined) return false;
  const settings = deps.settings();
  try {
    const { layers, baseline } = conversation;
    await fetchOffers(deps, {
      layers,
      server: cache.server,
      want: serverWant({ line }, settings),
      model: baseline.model,
      signal,
    });
  } catch {
    // If the offers can't be fetched, there are none now; they are fetched again next time.
    return false;
  }
  const { policy, switches } = settings;
  return canServerCompact({ policy, isOn: (name) => switches[name].value, offers: cache.server.offers });
}

type ServerOfferInput = Pick<ServerCall, "conversation" | "signal">;

class ServerCallRun {
  readonly #deps: ServerCallDeps;
  readonly #call: ServerCall;
  readonly #calls: CompactionCall[] = [];

  constructor(deps: ServerCallDeps, call: ServerCall) {
    this.#deps = deps;
    this.#call = call;
  }

  async run(): Promise<ServerSummaryOutcome> {
    const assembled = assembleRequest(asSummaryConversation(this.#call, this.#deps), {
      settings: this.#deps.settings(),
      at: this.#deps.now(),
    });
    if (assembled.kind === "not-sendable") return this.#fail("nothing_to_compact", assembled.why.text);
    if (assembled.kind === "over-limit")
      return this.#fail("prompt_too_long", `The request has ${assembled.tokens} tokens, over ${assembled.limit}.`);
    const { timeMillisMax } = serverCallLimits;
    const limit = new TimeLimit(this.#deps, { timeMillisMax, signal: this.#call.signal });
    try {
      return await this.#askWithRetries(assembled.request, limit);
    } catch (error) {
      return this.#fail("api_error", `The provider's summary broke off: ${String(error)}`);
    } finally {
      limit.end();
    }
  }

  async #askWithRetries(request: ModelRequest, limit: TimeLimit): Promise<ServerSummaryOutcome> {
    const limits = { ...this.#deps.retries, triesMax: serverCallLimits.triesMax };
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#askOnce(request, limit.signal);
      if (this.#call.signal.aborted) return this.#fail("aborted", "The compaction was cancelled.");
      if (answer.kind === "replied") return this.#readSummary(answer.blocks);
      if (limit.exceeded !== undefined) return this.#fail("timed_out", `No summary came. ${limit.exceeded}`);
      const { failure } = answer;
      const next = nextTry({ failure, attempt, random: this.#deps.random(), limits });
      if (next.kind === "give-up") return this.#fail(failureReason(failure), next.message);
      await this.#deps.wait(next.ms, limit.signal);
    }
  }

  async #askOnce(request: ModelRequest, signal: AbortSignal): Promise<ServerCallAnswer> {
    const blocks: Block[] = [];
    let usage: JsonObject | undefined;
    try {
      for await (const event of this.#deps.model.send(request, signal)) {
        switch (event.kind) {
          case "reply-start":
            usage = event.usage;
            break;
          case "block-end":
            blocks.push(event.block);
            break;
          case "reply-end":
            usage = event.usage;
            return { kind: "replied", blocks };
          case "failure":
            return { kind: "failed", failure: event.failure };
          case "text-delta":
          case "thinking-delta":
          case "input-delta":
        }
      }
    } finally {
      // A broken reply is paid for too.
      if (usage !== undefined) this.#book(usage);
    }
    throw new Error("a model ended without a reply and without a failure");
  }

  #readSummary(blocks: readonly Block[]): ServerSummaryOutcome {
    const [block] = blocks.flatMap((candidate) => (candidate.type === "compaction" ? [candidate] : []));
    const text = block === undefined ? undefined : compactionBlockText(block);
    if (block === undefined || text === undefined)
      return this.#fail("no_summary", "The provider answered without a summary.");
    this.#call.onText?.(text);
    const { model } = this.#call.conversation.baseline;
    return { kind: "block", block, model, text, calls: this.#calls };
  }

  #book(usage: JsonObject): void {
    const { costs, baseline, line } = this.#call.conversation;
    const { model } = baseline;
    costs.add({ source: "compact", model, usage, headerTokens: line.fixedTokens });
    this.#calls.push({ path: "server", model, usage });
  }

  #fail(reason: CompactionFailure, message: string): ServerSummaryOutcome {
    return { kind: "failed", reason, message, calls: this.#calls };
  }
}

type ServerCallAnswer =
  | { readonly kind: "replied"; readonly blocks: readonly Block[] }
  | { readonly kind: "failed"; readonly failure: ModelFailure };

const failureReason = ({ why }: ModelFailure): CompactionFailure =>
  why === "too-long" ? "prompt_too_long" : "api_error";

/** The conversation for the summary request, with a separate line, so that nothing of it reaches the session. */
function asSummaryConversation(
  { conversation, instructions, reach = {} }: ServerCall,
  { settings }: ServerCallDeps,
): Conversation {
  const { line: parent, written } = conversation;
  const all = parent.snapshot();
  const messages = firstMessages(all, reach);
  const { fixedTokens } = parent;
  const usedTokens = tokens(
    Math.max(fixedTokens, parent.usedTokens - estimateShown(all.slice(messages.length).map(({ content }) => content))),
  );
  const line = new ForkLine({ messages, usedTokens, fixedTokens });
  const withheld = parent.editable?.fold.sentWithheld ?? new Set<ToolUseId>();
  const options = serverOptions(conversation, {
    settings: settings(),
    isClearable: () => false,
    messages,
    withheld,
  });
  return {
    ...conversation,
    line,
    cache: undefined,
    inheritedAsks: withSummaryRequest(options, instructions),
    written: written.copy(),
    source: "compact",
    mark: (input) => forkBreakpoints(input, { common: line.common, cacheWrite: "skip" }),
  };
}

/** Context management can't be combined with a summary request. */
function withSummaryRequest({ params, betas }: ServerOptions, instructions: string): ServerOptions {
  const { context_management: _, ...others } = params;
  const compaction = { type: "summarize", ...(instructions.trim() === "" ? {} : { instructions }) };
  return { params: { ...others, compaction }, betas: [...betas, ...serverCompactionOptions.betas] };
}

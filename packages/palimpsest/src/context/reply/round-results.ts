import type { OffloadDecision } from "../../layers/1-offload/plan.ts";
import { offload, type OffloadOutcome, type RoundResult } from "../../layers/1-offload/run.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { Tool, ToolOutcome } from "../../ports/tool.ts";
import type { ToolUseBlock } from "../../schema/block.ts";
import { bytes, type EntryId, type ToolUseId } from "../../schema/brand.ts";
import type { LoopEvent, OffloadedResult } from "../../schema/loop-event.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { keptSummaryCharsMax } from "../limits.ts";
import type { Conversation } from "../conversation.ts";
import type { ResultDeps } from "../deps.ts";
import { buildReadRecord } from "../read-files.ts";

/** The result of a call. Its content is for the model. */
export interface CallResult {
  readonly call: ToolUseBlock;
  readonly tool: Tool | undefined;
  readonly outcome: Extract<LoopEvent, { kind: "call-end" }>["outcome"];
  readonly content: ToolOutcome["content"];
  readonly summary: string;
  /** A hook wants the turn to end here. */
  readonly stopped?: string | undefined;
}

/**
 * Writes the results of a round to the transcript, through the first layer. Each is written as it arrives; if all of them
 * together exceed the limit, some are offloaded. With the next request the decisions are final.
 */
export class RoundResults {
  readonly #deps: ResultDeps;
  readonly #conversation: Conversation;
  #round: RoundResult[] = [];
  #decided = new Map<ToolUseId, OffloadDecision>();
  #events: LoopEvent[] = [];
  #failure: WriteFailure | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: ResultDeps, conversation: Conversation) {
    this.#deps = deps;
    this.#conversation = conversation;
  }

  /** Adds results one after the other, even if several arrive at once. A write failure is reported at the end of the round. */
  add(result: CallResult): Promise<void> {
    const added = this.#last.then(() => this.#add(result));
    this.#last = added.catch(() => undefined);
    return added;
  }

  /** Called when all results so far are part of a request: they must not change any more. */
  markSent(): void {
    this.#round = [];
    this.#decided = new Map();
  }

  /** Results that another tool recorded are offloaded before the first request shows them, and never later. */
  async *offloadRecorded(signal: AbortSignal): AsyncGenerator<LoopEvent, WriteFailure | undefined> {
    const { line, session } = this.#conversation;
    const limits = this.#deps.offloadLimits();
    const toolOf = (name: string): Tool | undefined => this.#deps.tools.find((tool) => tool.name === name);
    for (const results of line.unsentRounds({ toolOf: (name) => toolLimits(toolOf(name)) })) {
      // The next turn handles the rest.
      if (signal.aborted) break;
      const round = await offload(this.#deps, { session, results, limits });
      if (round.drafts.length === 0 && round.warnings.length === 0) continue;
      const appended = await line.append(...round.drafts);
      if (appended.kind === "failed") return appended;
      this.#queueEvents(round, { results, entries: appended.entries });
    }
    return yield* this.endRound();
  }

  *endRound(): Generator<LoopEvent, WriteFailure | undefined> {
    yield* this.#events.splice(0);
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  async #add({ call, tool, content, outcome, summary }: CallResult): Promise<void> {
    if (this.#failure !== undefined) return;
    const { redaction } = this.#deps;
    const shownSummary = redaction === undefined ? summary : await redaction.text(summary);
    const arrived: RoundResult = {
      toolUse: call.id,
      tool: call.name,
      content: redaction === undefined ? content : await redaction.content(content),
      isError: outcome !== "done",
      ...toolLimits(tool),
      readFile: buildReadRecord(this.#conversation.files, call.id),
      summary: shownSummary.slice(0, safeCutIndex(shownSummary, keptSummaryCharsMax)),
      state: "arrived",
    };
    const { line, session } = this.#conversation;
    const limits = this.#deps.offloadLimits();
    const results = [...this.#round, arrived];
    const round = await offload(this.#deps, { session, results, limits, decided: this.#decided });
    const appended = await line.append(...round.drafts);
    if (appended.kind === "failed") {
      this.#failure = appended;
      return;
    }
    this.#round.push({ ...arrived, state: "logged" });
    // An offload is final; a result that was kept may still be offloaded during the round.
    for (const [toolUse, decision] of round.decisions)
      if (decision.kind === "offloaded") this.#decided.set(toolUse, decision);
    this.#queueEvents(round, { results, entries: appended.entries });
  }

  #queueEvents(
    { drafts, replaced, warnings }: OffloadOutcome,
    { results, entries }: { readonly results: readonly RoundResult[]; readonly entries: readonly EntryId[] },
  ): void {
    const edits = drafts.filter(({ type }) => type === "offload").length;
    const offloaded = replaced.flatMap((one) => {
      const result = results.find(({ toolUse }) => toolUse === one.toolUse);
      return result === undefined ? [] : [measureOffload(result, one)];
    });
    if (edits > 0) this.#events.push({ kind: "edit", what: "offload", entries: entries.slice(-edits), offloaded });
    for (const { code, message } of warnings) this.#events.push({ kind: "warning", code, message });
  }
}

const measureOffload = (
  { tool, content }: RoundResult,
  { toolUse, bytes: bytesBefore, shown }: OffloadOutcome["replaced"][number],
): OffloadedResult => ({
  tool,
  bytesBefore,
  bytesAfter: bytes(new TextEncoder().encode(shown).byteLength),
  tokensBefore: estimateBlock({ type: "tool_result", tool_use_id: toolUse, content }),
  tokensAfter: estimateBlock({ type: "text", text: shown }),
});

const toolLimits = (tool: Tool | undefined): Pick<RoundResult, "resultCharsMax" | "offload"> => ({
  resultCharsMax: tool?.resultCharsMax,
  offload: tool?.offload,
});

import type { OffloadDecision } from "../../layers/1-offload/plan.ts";
import { offload, type OffloadOutcome, type RoundResult } from "../../layers/1-offload/run.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { Tool, ToolOutcome } from "../../ports/tool.ts";
import type { ToolUseBlock } from "../../schema/block.ts";
import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { safeCutIndex } from "../../schema/safe-cut-index.ts";
import { keptSummaryCharsMax } from "../limits.ts";
import type { Conversation } from "../conversation.ts";
import type { ResultDeps } from "../deps.ts";
import { buildReadRecord } from "../read-files.ts";

/** What a call came to; its content is for the model. */
export interface CallResult {
  readonly call: ToolUseBlock;
  readonly tool: Tool | undefined;
  readonly outcome: Extract<LoopEvent, { kind: "call-end" }>["outcome"];
  readonly content: ToolOutcome["content"];
  readonly summary: string;
  /** A hook wants the turn to end here. */
  readonly stopped?: string;
}

/**
 * The results of a round on their way into the transcript, through the first layer. Each goes to disk as it arrives; what
 * all of them together exceed is offloaded when the round ends. With the next request everything is frozen.
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

  /** One after the other, also where several arrive at once. What can't be written is told at the end of the round. */
  add(result: CallResult): Promise<void> {
    const taken = this.#last.then(() => this.#take(result));
    this.#last = taken.catch(() => undefined);
    return taken;
  }

  /** Everything so far is part of a request: it stays as it is. */
  markSent(): void {
    this.#round = [];
    this.#decided = new Map();
  }

  /** What another tool recorded is decided about before the first request shows it, and then never again. */
  async *offloadRecorded(signal: AbortSignal): AsyncGenerator<LoopEvent, WriteFailure | undefined> {
    const { line, session } = this.#conversation;
    const limits = this.#deps.offloadLimits();
    const toolOf = (name: string): Tool | undefined => this.#deps.tools.find((tool) => tool.name === name);
    for (const results of line.unsentRounds({ toolOf: (name) => toolLimits(toolOf(name)) })) {
      // What is left is taken over by the next turn.
      if (signal.aborted) break;
      const round = await offload(this.#deps, { session, results, limits });
      if (round.drafts.length === 0 && round.warnings.length === 0) continue;
      const appended = await line.append(...round.drafts);
      if (appended.kind === "failed") return appended;
      this.#tell(round, appended.entries);
    }
    return yield* this.endRound();
  }

  *endRound(): Generator<LoopEvent, WriteFailure | undefined> {
    yield* this.#events.splice(0);
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  async #take({ call, tool, content, outcome, summary }: CallResult): Promise<void> {
    if (this.#failure !== undefined) return;
    const arrived: RoundResult = {
      toolUse: call.id,
      tool: call.name,
      content,
      isError: outcome !== "done",
      ...toolLimits(tool),
      readFile: buildReadRecord(this.#conversation.files, call.id),
      summary: summary.slice(0, safeCutIndex(summary, keptSummaryCharsMax)),
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
    // What went to disk is decided; what was kept may still go while the round lasts.
    for (const [toolUse, decision] of round.decisions)
      if (decision.kind === "offloaded") this.#decided.set(toolUse, decision);
    this.#tell(round, appended.entries);
  }

  #tell({ drafts, warnings }: OffloadOutcome, entries: readonly EntryId[]): void {
    const edits = drafts.filter(({ type }) => type === "offload").length;
    if (edits > 0) this.#events.push({ kind: "edit", what: "offload", entries: entries.slice(-edits) });
    for (const { code, message } of warnings) this.#events.push({ kind: "warning", code, message });
  }
}

const toolLimits = (tool: Tool | undefined): Pick<RoundResult, "resultCharsMax" | "offload"> => ({
  resultCharsMax: tool?.resultCharsMax,
  offload: tool?.offload,
});

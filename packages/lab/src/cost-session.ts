import { type Lifetime, millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { residentTokensMin } from "palimpsest/internal/cache/limits";
import { defaultCompactSize } from "palimpsest/internal/cache/compact-price";
import type { CacheRates } from "palimpsest/internal/cache/cache-rates";
import type { OffloadRule } from "palimpsest/internal/layers/policy";
import { isRerunnable } from "palimpsest/internal/layers/2-clear/is-rerunnable";
import type { Block, ToolResultBlock } from "palimpsest/internal/schema/block";
import { type EntryId, entryId, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { Edit } from "palimpsest/internal/schema/edit";
import type { Entry } from "palimpsest/internal/schema/entry";
import { Fold } from "palimpsest/internal/transcript/fold";
import type { ResultReplacement, ViewWatch } from "palimpsest/internal/transcript/view-watch";
import { staleRoundsOfOptimum } from "./limits.ts";
import type { Recording } from "./recording/recording.ts";
import { measureContent, resolveOffloadLimits, planOffload } from "palimpsest/internal/layers/1-offload/plan";

/**
 * A recording reduced to what money depends on. In round t the request holds the header, every `other` and every result
 * of rounds 0…t, minus what was cleared. A result of round i is stale from round i + staleAfterRounds on.
 */
export interface CostSession {
  readonly headerTokens: number;
  readonly rounds: readonly CostRound[];
  readonly rates: { readonly read: number; readonly write: number; readonly output: number };
  readonly staleAfterRounds: number;
  readonly compaction: {
    /** Tokens that summary and restored files leave in place of everything but the header, the newest round included. */
    readonly leavesTokens: number;
    readonly outputTokens: number;
  };
  /** A request over this is not sent; absent: no limit. */
  readonly windowTokens?: number;
}

export interface CostRound {
  /** The cache has expired before this round's request: everything is written anew, so an edit is free. */
  readonly cold: boolean;
  /** What can't be cleared and is new in this round's request: replies, calls, people's words. */
  readonly otherTokens: number;
  /** Results that are new in this round's request and may be cleared, in order: what clearing one would save. */
  readonly resultTokens: readonly number[];
}

export interface CostSessionInput {
  readonly recording: Recording;
  readonly lifetime: Lifetime;
  readonly rates: CacheRates;
  /** What a marker in place of a cleared result costs. */
  readonly markerTokens: number;
  readonly windowTokens?: number;
  readonly thinking: "kept" | "left-out";
  /** Of the policy that is held against it: what it never shows whole costs nobody more than its preview. */
  readonly offload?: OffloadRule | undefined;
}

/** A recording reduced to the numbers that the optima are computed from: the same that the runs are charged by. */
export function buildCostSession({
  recording,
  lifetime,
  rates,
  markerTokens,
  windowTokens,
  thinking,
  offload,
}: CostSessionInput): CostSession {
  const arrivals = new Arrivals();
  const view = new RecordedView(new Fold({ watch: arrivals, origin: thinking === "kept" ? "ours" : "foreign" }));
  const rounds: CostRound[] = [];
  let lastAt: number | undefined;
  for (const { at, before, reply } of recording.rounds) {
    view.say(before);
    const results = offloadArrivals(offload, before);
    if (results.length > 0)
      view.edit({ type: "offload", results: results.map(({ toolUse, shown }) => ({ toolUse, shown })) });
    const cold = lastAt === undefined || at - lastAt >= millisByLifetime[lifetime];
    rounds.push({ cold, ...splitTokens(arrivals.take(), { recording, markerTokens }) });
    lastAt = at;
    view.say(reply);
  }
  return {
    headerTokens: recording.headerTokens,
    rounds,
    rates,
    staleAfterRounds: staleRoundsOfOptimum,
    compaction: defaultCompactSize({ restores: "files", windowTokens: windowTokens ?? Infinity }),
    ...(windowTokens === undefined ? {} : { windowTokens }),
  };
}

/** What was recorded, and what is offloaded of it: nothing else is ever decided here. */
class RecordedView {
  readonly #fold: Fold;
  #entries = 0;

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  say(entries: readonly Entry[]): void {
    for (const entry of entries) this.#append(entry);
  }

  edit(edit: Edit): void {
    const id = entryId(`edit-${this.#entries}`);
    this.#append({ kind: "edit", id, ...unplaced, timestamp: undefined, edit });
  }

  #append(entry: Entry): void {
    const parent = this.#fold.path.leaf?.id ?? null;
    const start = 2 * this.#entries;
    this.#entries += 1;
    this.#fold.append({ entry: { ...entry, parent, logicalParent: undefined }, start, end: start + 1 });
  }
}

const unplaced = { parent: null, logicalParent: undefined, sidechain: false } as const;

/** What is new in the view since it was last asked: the same blocks that the runs are charged for. */
class Arrivals implements ViewWatch {
  readonly #toolById = new Map<ToolUseId, string>();
  #arrived: ArrivedBlock[] = [];

  take(): readonly ArrivedBlock[] {
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }

  shown(block: Block, _: EntryId, instead?: ResultReplacement): void {
    if (block.type === "tool_use") this.#toolById.set(block.id, block.name);
    const isWhole = block.type === "tool_result" && instead === undefined;
    const tool = isWhole ? this.#toolById.get(block.tool_use_id) : undefined;
    this.#arrived.push({ block, tool });
  }

  hidden(block: Block): void {
    this.#arrived = this.#arrived.filter((one) => one.block !== block);
  }

  reset(): void {}

  item(): void {}
}

interface ArrivedBlock {
  readonly block: Block;
  /** Of a result that is shown whole. */
  readonly tool: string | undefined;
}

function splitTokens(
  arrived: readonly ArrivedBlock[],
  { recording, markerTokens }: Pick<CostSessionInput, "recording" | "markerTokens">,
): Pick<CostRound, "otherTokens" | "resultTokens"> {
  let otherTokens = 0;
  const resultTokens: number[] = [];
  for (const { block, tool } of arrived) {
    const tokens = recording.tokensOf(block);
    const removable = tokens - markerTokens;
    const isClearable = tool !== undefined && removable >= residentTokensMin && isRerunnable(tool);
    otherTokens += isClearable ? markerTokens : tokens;
    if (isClearable) resultTokens.push(removable);
  }
  return { otherTokens, resultTokens };
}

interface OffloadedResult {
  readonly toolUse: ToolUseId;
  readonly content: ToolResultBlock;
  /** The preview that stands for it. */
  readonly shown: string;
}

/** What layer 1 takes out of a round's results as they arrive. Which tool they are of does not matter: tools' own limits are not recorded. */
export function offloadArrivals(rule: OffloadRule | undefined, before: readonly Entry[]): readonly OffloadedResult[] {
  if (rule === undefined) return [];
  const results = before.flatMap((entry) =>
    entry.kind === "user" ? entry.blocks.filter((block) => block.type === "tool_result") : [],
  );
  if (results.length === 0) return [];
  const decisions = planOffload({
    results: results.map((block) => ({
      toolUse: block.tool_use_id,
      tool: "",
      ...measureContent(block.content ?? ""),
    })),
    limits: resolveOffloadLimits(rule),
    decided: new Map(),
  });
  return results.flatMap((content) => {
    if (decisions.get(content.tool_use_id)?.kind !== "offloaded") return [];
    return [{ toolUse: content.tool_use_id, content, shown: offloadPreview(content, rule) }];
  });
}

function offloadPreview({ content }: ToolResultBlock, { preview }: OffloadRule): string {
  const whole = typeof content === "string" ? content : JSON.stringify(content ?? "");
  return `<persisted-output>\n${whole.length} characters are in a file. They begin:\n${whole.slice(0, preview.length).toWellFormed()}\n…\n</persisted-output>`;
}

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
 * A recording reduced to the numbers that its cost depends on. In round t the request holds the header, and the other
 * tokens and results of rounds 0…t, minus what was cleared. A result of round i is stale from round i + staleAfterRounds on.
 */
export interface CostSession {
  readonly headerTokens: number;
  readonly rounds: readonly CostRound[];
  readonly rates: { readonly read: number; readonly write: number; readonly output: number };
  readonly staleAfterRounds: number;
  readonly compaction: {
    /** Tokens of the summary and the restored files, which replace everything but the header, including the newest round. */
    readonly leavesTokens: number;
    readonly outputTokens: number;
  };
  /** A larger request is not sent; absent: no limit. */
  readonly windowTokens?: number;
}

export interface CostRound {
  /** Whether the cache expired before this round's request: then everything is written again, so an edit is free. */
  readonly cold: boolean;
  /** In a cold round: the beginning of the header that is in the cache nevertheless. */
  readonly sharedTokens?: number;
  /** New tokens in this round's request that can't be cleared: replies, calls, the user's messages. */
  readonly otherTokens: number;
  /** For each new result in this round's request that may be cleared: the tokens that clearing it would save. */
  readonly resultTokens: readonly number[];
}

export interface CostSessionInput {
  readonly recording: Recording;
  readonly lifetime: Lifetime;
  readonly rates: CacheRates;
  /** The size of the marker that replaces a cleared result. */
  readonly markerTokens: number;
  readonly windowTokens?: number;
  readonly thinking: "kept" | "left-out";
  /** The rule of the policy that is compared with the optimum: a result that it offloads counts only as its preview. */
  readonly offload?: OffloadRule | undefined;
}

/** Builds the input of the optima from a recording, with the same numbers by which the runs are charged. */
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
  for (const { at, before, reply, cacheEvents = [] } of recording.rounds) {
    view.say(before);
    const results = offloadArrivals(offload, before);
    if (results.length > 0)
      view.edit({ type: "offload", results: results.map(({ toolUse, shown }) => ({ toolUse, shown })) });
    const cold = lastAt === undefined || at - lastAt >= millisByLifetime[lifetime];
    const isShared = cold && cacheEvents.includes("header-shared");
    rounds.push({
      cold,
      ...(isShared ? { sharedTokens: recording.cache?.sharedTokens ?? 0 } : {}),
      ...splitTokens(arrivals.take(), { recording, markerTokens }),
    });
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

/** A view of the recording in which offloading is the only edit. */
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

/** Collects the blocks that are new in the view since the last `take`: the same blocks that the runs are charged for. */
class Arrivals implements ViewWatch {
  readonly #toolById = new Map<ToolUseId, string>();
  #arrived: ArrivedBlock[] = [];

  take(): readonly ArrivedBlock[] {
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }

  shown(block: Block, _: EntryId, replacement?: ResultReplacement): void {
    if (block.type === "tool_use") this.#toolById.set(block.id, block.name);
    const isFullResult = block.type === "tool_result" && replacement === undefined;
    const tool = isFullResult ? this.#toolById.get(block.tool_use_id) : undefined;
    this.#arrived.push({ block, tool });
  }

  hidden(block: Block): void {
    this.#arrived = this.#arrived.filter((arrived) => arrived.block !== block);
  }

  reset(): void {}

  item(): void {}
}

interface ArrivedBlock {
  readonly block: Block;
  /** The tool of a result that is shown in full. */
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
  /** The preview that replaces it. */
  readonly shown: string;
}

/** The results of a round that layer 1 offloads when they arrive. The tool does not matter, because the tools' limits are not recorded. */
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
  const text = typeof content === "string" ? content : JSON.stringify(content ?? "");
  return `<persisted-output>\n${text.length} characters are in a file. They begin:\n${text.slice(0, preview.length).toWellFormed()}\n…\n</persisted-output>`;
}

import { type Lifetime, millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { residentTokensMin } from "palimpsest/internal/cache/limits";
import { compactSizeStandIn } from "palimpsest/internal/cache/compact-price";
import type { CacheRates } from "palimpsest/internal/cache/rates";
import type { OffloadRule } from "palimpsest/internal/layers/policy";
import { isRerunnable } from "palimpsest/internal/layers/2-clear/clearable";
import type { Block } from "palimpsest/internal/schema/block";
import { type EntryId, entryId, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { Edit } from "palimpsest/internal/schema/edit";
import type { Entry } from "palimpsest/internal/schema/entry";
import { Fold } from "palimpsest/internal/transcript/fold";
import type { ShownInstead, ViewWatch } from "palimpsest/internal/transcript/watch";
import type { CostRound, CostSession } from "./cost-session.ts";
import { staleRoundsOfOptimum } from "./limits.ts";
import { offloadedNow } from "./offloaded.ts";
import type { Recording } from "./recording.ts";

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
export function costSessionOf({
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
    const results = offloadedNow(offload, before);
    if (results.length > 0)
      view.edit({ type: "offload", results: results.map(({ toolUse, shown }) => ({ toolUse, shown })) });
    const cold = lastAt === undefined || at - lastAt >= millisByLifetime[lifetime];
    rounds.push({ cold, ...split(arrivals.take(), { recording, markerTokens }) });
    lastAt = at;
    view.say(reply);
  }
  return {
    headerTokens: recording.headerTokens,
    rounds,
    rates,
    staleAfterRounds: staleRoundsOfOptimum,
    compaction: compactSizeStandIn({ restores: "files", windowTokens: windowTokens ?? Infinity }),
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
  #arrived: Arrived[] = [];

  take(): readonly Arrived[] {
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }

  shown(block: Block, _: EntryId, instead?: ShownInstead): void {
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

interface Arrived {
  readonly block: Block;
  /** Of a result that is shown whole. */
  readonly tool: string | undefined;
}

function split(
  arrived: readonly Arrived[],
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

import { plural } from "../../schema/format-count.ts";
import type { Inventory, Resident } from "../../cache/inventory.ts";
import { inventoryScale } from "../../cache/clear-price.ts";
import { formatTokenCount } from "./format-token-count.ts";
import type { Candidate, Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import type { SizeRule } from "../policy.ts";
import { manualKeepResults } from "./limits.ts";
import { clearCandidate } from "./run-clear.ts";

/**
 * By size: over its threshold the oldest results go until the rest is small enough, the newest stay, and nothing happens
 * if that saves too little.
 */
export const clearBySize: Layer = {
  name: "clear.size",
  switches: ["clear.size"],
  propose(state) {
    const rule = state.policy.clear.bySize;
    if (rule === undefined || !state.isOn("clear.size") || !isSizeDue(state, rule)) return undefined;
    return createSizeCandidate(state, { rule, cause: "size" });
  },
};

/**
 * By hand: the oldest results go until the rest has at most so many tokens. Whatever the threshold, and however little that
 * saves; a switch that is off is for what happens by itself. The newest stay all the same.
 */
export const clearDownTo = (state: PipelineState, downToTokens: number): Candidate | undefined => {
  const { keepResults = manualKeepResults, marker = "named" } = state.policy.clear.bySize ?? {};
  const rule = { when: "request", keepResults, keepTurns: 0, downToTokens, savesTokensMin: 0, marker } as const;
  return createSizeCandidate(state, { rule, cause: "asked" });
};

function createSizeCandidate(
  state: PipelineState,
  { rule, cause }: { readonly rule: SizeRule; readonly cause: "size" | "asked" },
): Candidate | undefined {
  const scale = inventoryScale(state);
  const { results, removed, left } = oldestOver(state.inventory, { rule, scale });
  if (results.length === 0 || removed < rule.savesTokensMin) return undefined;
  const [gone, stays] = [formatTokenCount(removed), formatTokenCount(left)];
  const figures = {
    layer: "clear.size",
    removesTokens: removed,
    behindTokens: state.prefixes.isCold(state.moment.at) ? 0 : tokensBehind(results, { state, scale }),
    because: `${labelByCause[cause]}: ${gone} tokens of ${results.length} old ${plural(results.length, "result")} ${results.length === 1 ? "goes" : "go"}, ${stays} stay`,
  };
  return clearCandidate(figures, { cause, results: results.map(({ toolUse }) => toolUse), marker: rule.marker });
}

const labelByCause = { size: "by size", asked: "by hand" } as const;

function isSizeDue(
  { opens, moment, sentTokens, thresholds, roundsSinceClear }: PipelineState,
  rule: SizeRule,
): boolean {
  if (rule.when === "turn" && opens !== "turn") return false;
  if (rule.everyRounds !== undefined && (roundsSinceClear ?? Infinity) < rule.everyRounds) return false;
  if (rule.above === undefined) return true;
  const limit = rule.above.tokens === "warning" ? thresholds.warning : rule.above.tokens;
  return (rule.above.of === "sent" ? sentTokens : moment.contextTokens) > limit;
}

interface Oldest {
  readonly results: readonly Resident[];
  readonly removed: number;
  readonly left: number;
}

function oldestOver(
  inventory: Inventory,
  { rule, scale }: { readonly rule: SizeRule; readonly scale: number },
): Oldest {
  const stays = newestToKeep(inventory, rule);
  let left = countAgainstTarget(inventory, { rule, scale });
  let removed = 0;
  const results: Resident[] = [];
  for (let one = inventory.oldest; one !== undefined && left > rule.downToTokens; one = one.after) {
    if (stays.has(one)) break;
    results.push(one);
    removed += one.tokens * scale;
    left -= one.tokens * scale;
  }
  return { results, removed, left };
}

/** Between two turns the one that is about to begin does not count: it has no results yet. */
const lastTurn = ({ turn }: Inventory, when: SizeRule["when"]): number => (when === "turn" ? turn - 1 : turn);

function newestToKeep(inventory: Inventory, { keepResults, keepTurns, when }: SizeRule): ReadonlySet<Resident> {
  const stays = new Set<Resident>();
  for (let one = inventory.newest; one !== undefined; one = one.before) {
    if (stays.size >= keepResults && one.bornTurn <= lastTurn(inventory, when) - keepTurns) break;
    stays.add(one);
  }
  return stays;
}

/** What the rule holds against its target: results of the newest turns do not count. */
function countAgainstTarget(
  inventory: Inventory,
  { rule, scale }: { readonly rule: SizeRule; readonly scale: number },
): number {
  if (rule.keepTurns === 0) return inventory.residentTokens * scale;
  let sum = 0;
  for (let one = inventory.oldest; one !== undefined; one = one.after)
    if (one.bornTurn <= lastTurn(inventory, rule.when) - rule.keepTurns) sum += one.tokens * scale;
  return sum;
}

/** What survives from the oldest of them on. */
function tokensBehind(
  results: readonly Resident[],
  { state, scale }: { readonly state: Pick<PipelineState, "inventory">; readonly scale: number },
): number {
  const gone = new Set(results);
  let sum = 0;
  let left = gone.size;
  for (let one = state.inventory.newest; one !== undefined && left > 0; one = one.before) {
    sum += one.behindTokens;
    if (gone.has(one)) left -= 1;
    else sum += one.tokens;
  }
  return sum * scale;
}

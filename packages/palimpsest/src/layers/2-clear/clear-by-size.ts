import { formatCount, plural } from "../../text/format-count.ts";
import type { Inventory } from "../../cache/inventory.ts";
import type { Resident } from "../../cache/resident.ts";
import { inventoryScale } from "../../cache/clear-price.ts";
import { createBudgetCounter } from "../count-context.ts";
import { explainRemoval, formatTokens } from "../reason.ts";
import type { Candidate, Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import type { SizeRule } from "../policy.ts";
import { manualKeepResults } from "./limits.ts";
import { clearCandidate } from "./run-clear.ts";

/**
 * Clears the oldest results above a threshold until the rest is small enough. The newest stay, and nothing happens if
 * that saves too little.
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
 * Clears on the user's request: the oldest results until the rest has at most so many tokens, whatever the threshold
 * and however little that saves. Switches are ignored, since they are for automatic clearing. The newest results still
 * stay.
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
  const count = createBudgetCounter(state.policy.counting, scale);
  const { results, removed, left } = oldestOver(state.inventory, { rule, count });
  if (results.length === 0 || removed < rule.savesTokensMin) return undefined;
  const of = `${formatCount(results.length)} old ${plural(results.length, "result")}`;
  const removal = explainRemoval({ removesTokens: removed, of }, state.moment);
  const figures = {
    layer: "clear.size",
    removesTokens: results.reduce((sum, { tokens }) => sum + tokens, 0) * scale,
    behindTokens: state.prefixes.isCold(state.moment.at) ? 0 : tokensBehind(results, { state, scale }),
    because: `${labelByCause[cause]}: ${removal}; ${formatTokens(left)} of results stay`,
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

interface Budget {
  readonly rule: SizeRule;
  readonly count: (resident: Resident) => number;
}

function oldestOver(inventory: Inventory, { rule, count }: Budget): Oldest {
  const kept = newestToKeep(inventory, rule);
  let left = countAgainstTarget(inventory, { rule, count });
  let removed = 0;
  const results: Resident[] = [];
  for (let resident = inventory.oldest; resident !== undefined && left > rule.downToTokens; resident = resident.after) {
    if (kept.has(resident)) break;
    results.push(resident);
    removed += count(resident);
    left -= count(resident);
  }
  return { results, removed, left };
}

/** Between two turns, the turn that is about to begin does not count: it has no results yet. */
const lastTurn = ({ turn }: Inventory, when: SizeRule["when"]): number => (when === "turn" ? turn - 1 : turn);

function newestToKeep(inventory: Inventory, { keepResults, keepTurns, when }: SizeRule): ReadonlySet<Resident> {
  const kept = new Set<Resident>();
  for (let resident = inventory.newest; resident !== undefined; resident = resident.before) {
    if (kept.size >= keepResults && resident.bornTurn <= lastTurn(inventory, when) - keepTurns) break;
    kept.add(resident);
  }
  return kept;
}

/** The tokens that the rule compares with its target. Results of the newest turns do not count. */
function countAgainstTarget(inventory: Inventory, { rule, count }: Budget): number {
  let sum = 0;
  for (let resident = inventory.oldest; resident !== undefined; resident = resident.after)
    if (rule.keepTurns === 0 || resident.bornTurn <= lastTurn(inventory, rule.when) - rule.keepTurns)
      sum += count(resident);
  return sum;
}

/** Tokens that survive behind the oldest of these results. */
function tokensBehind(
  results: readonly Resident[],
  { state, scale }: { readonly state: Pick<PipelineState, "inventory">; readonly scale: number },
): number {
  const cleared = new Set(results);
  let sum = 0;
  let left = cleared.size;
  for (let resident = state.inventory.newest; resident !== undefined && left > 0; resident = resident.before) {
    sum += resident.behindTokens;
    if (cleared.has(resident)) left -= 1;
    else sum += resident.tokens;
  }
  return sum * scale;
}

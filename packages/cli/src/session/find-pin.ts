import { pinsBudget, type PinsReport, reportPins } from "palimpsest/internal/layers/4-compact/compaction-budgets";
import { type EntryId, type Tokens, entryId, toolUseId } from "palimpsest/internal/schema/brand";
import { estimateBlock } from "palimpsest/internal/tokens/estimate-block";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { formatNumber, joinLines } from "../text/format.ts";

export type PinVerb = "pin" | "unpin";

export interface PinQuery {
  readonly verb: PinVerb;
  /** As the user named it. */
  readonly named: string;
}

type FindPinOutcome =
  | { readonly kind: "found"; readonly entry: EntryId }
  /** `message`: one line, without a full stop. */
  | { readonly kind: "unknown" | "pinned"; readonly message: string }
  /** `by`: the edit that has to be undone first. */
  | { readonly kind: "reduced"; readonly message: string; readonly by: EntryId };

/** Only entries of the view can be pinned; others can still be unpinned. */
export function findPin(fold: Fold, { verb, named }: PinQuery): FindPinOutcome {
  const { pins } = fold.projection;
  const entry = findEntry(fold, verb === "pin" ? { named } : { named, among: [...pins] });
  if (entry === undefined) {
    const what = verb === "pin" ? "no message of the view" : "nothing pinned";
    return { kind: "unknown", message: `${what} is called ${joinLines(named)}` };
  }
  if (verb === "unpin") return { kind: "found", entry };
  if (pins.has(entry)) return { kind: "pinned", message: `${joinLines(entry)} is pinned already` };
  return findReduction(fold, entry) ?? { kind: "found", entry };
}

/** The pin would carry what stands for the result instead of the result. */
function findReduction({ projection: { items, decisions } }: Fold, entry: EntryId): FindPinOutcome | undefined {
  const blocks = items.find((item) => item.entry === entry)?.blocks ?? [];
  const [decision] = blocks.flatMap((block) =>
    block.type === "tool_result"
      ? (decisions.get(block.tool_use_id) ?? []).filter(({ kind }) => kind !== "repair").slice(-1)
      : [],
  );
  if (decision === undefined) return undefined;
  const { kind, by } = decision;
  const instead = kind === "clear" ? "cleared: only its marker" : "offloaded: only its preview";
  return { kind: "reduced", message: `${joinLines(entry)} is ${instead} would be pinned`, by };
}

export function pinsReport({ projection: { items, pins } }: Fold, windowTokens: Tokens): PinsReport {
  return reportPins({ items, pins, budgetTokens: pinsBudget(windowTokens), count: estimateBlock });
}

/** `pins      2, about 1,200 tokens of the 20,000 there are for them` */
export const pinsText = ({ pins, tokens, budgetTokens }: PinsReport): string =>
  `pins      ${pins.length}, about ${formatNumber(tokens)} tokens of the ${formatNumber(budgetTokens)} there are for them`;

/**
 * Matches the whole id, the id of the call whose result it is, or a unique prefix. `among`: the candidates; absent: the
 * entries of the view.
 */
export function findEntry(
  { projection: { items } }: Fold,
  { named, among }: { readonly named: string; readonly among?: readonly EntryId[] },
): EntryId | undefined {
  const entries = among ?? items.map(({ entry }) => entry);
  const result = items.find(({ blocks }) =>
    blocks.some((block) => block.type === "tool_result" && block.tool_use_id === toolUseId(named)),
  );
  const exact = result?.entry ?? entryId(named);
  if (entries.includes(exact)) return exact;
  const matches = named.length < prefixCharsMin ? [] : entries.filter((entry) => entry.startsWith(named));
  return matches.length === 1 ? matches[0] : undefined;
}

/** A shorter prefix is more likely a slip than a name. */
const prefixCharsMin = 4;

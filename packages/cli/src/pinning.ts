import { pinsBudget, type PinsReport, pinsWithin } from "palimpsest/internal/layers/4-compact/pins";
import type { EntryId, Tokens } from "palimpsest/internal/schema/brand";
import { estimateBlock } from "palimpsest/internal/tokens/estimate";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { findEntry } from "./find-entry.ts";
import { humanCount, oneLine } from "./human.ts";

export type PinVerb = "pin" | "unpin";

export interface SoughtPin {
  readonly verb: PinVerb;
  /** As the person named it. */
  readonly named: string;
}

export type PinFound =
  | { readonly kind: "found"; readonly entry: EntryId }
  /** `message`: one line, without a full stop. */
  | { readonly kind: "unknown" | "pinned"; readonly message: string }
  /** `by`: the edit that has to be taken back first. */
  | { readonly kind: "reduced"; readonly message: string; readonly by: EntryId };

/** What can be pinned stands in the view; what can be unpinned need not. */
export function pinOf(fold: Fold, { verb, named }: SoughtPin): PinFound {
  const { pins } = fold.projection;
  const entry = findEntry(fold, verb === "pin" ? { named } : { named, among: [...pins] });
  if (entry === undefined) {
    const what = verb === "pin" ? "no message of the view" : "nothing pinned";
    return { kind: "unknown", message: `${what} is called ${oneLine(named)}` };
  }
  if (verb === "unpin") return { kind: "found", entry };
  if (pins.has(entry)) return { kind: "pinned", message: `${oneLine(entry)} is pinned already` };
  return reduced(fold, entry) ?? { kind: "found", entry };
}

/** What stands for a result would be carried in its place. */
function reduced({ projection: { items, decisions } }: Fold, entry: EntryId): PinFound | undefined {
  const blocks = items.find((item) => item.entry === entry)?.blocks ?? [];
  const [decision] = blocks.flatMap((block) =>
    block.type === "tool_result"
      ? (decisions.get(block.tool_use_id) ?? []).filter(({ kind }) => kind !== "repair").slice(-1)
      : [],
  );
  if (decision === undefined) return undefined;
  const { kind, by } = decision;
  const instead = kind === "clear" ? "cleared: only its marker" : "offloaded: only its preview";
  return { kind: "reduced", message: `${oneLine(entry)} is ${instead} would be pinned`, by };
}

export function pinsReport({ projection: { items, pins } }: Fold, windowTokens: Tokens): PinsReport {
  return pinsWithin({ items, pins, budgetTokens: pinsBudget(windowTokens), count: estimateBlock });
}

/** `pins      2, about 1,200 tokens of the 20,000 there are for them` */
export const pinsText = ({ pins, tokens, budgetTokens }: PinsReport): string =>
  `pins      ${pins.length}, about ${humanCount(tokens)} tokens of the ${humanCount(budgetTokens)} there are for them`;

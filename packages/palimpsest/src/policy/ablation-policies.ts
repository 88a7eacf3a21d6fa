import type { Policy } from "../layers/policy.ts";
import { palimpsest } from "./palimpsest.ts";

const { compact, summary, background } = palimpsest;

const without = (part: string, label = part): Pick<Policy, "name" | "about"> => ({
  name: `palimpsest-without-${part}`,
  about: `The default without ${label}.`,
});

const withNotes = (growthTokens: number): Policy => ({
  ...palimpsest,
  name: `palimpsest-with-notes-${growthTokens / 1_000}k`,
  about: `The default with notes, taken whenever the context has grown by ${growthTokens / 1_000},000 tokens.`,
  notes: "on",
  background: { ...background, notes: { ...background.notes, growthTokens } },
});

const { offload: _offload, ...notOffloaded } = palimpsest;
const { compact: _compact, ...notCompacted } = palimpsest;
const { early: _early, lossCost: _lossCost, ...compactWhenFull } = compact;
const { userMessages: _userMessages, ...summaryAlone } = summary;

const restoresNothing = { ...compact, restores: "nothing" } as const;
const nothing = { others: [], order: summary.restored.order } as const;

/**
 * The default with one layer or part removed or added, each: the difference is what the part is worth. What a replay
 * can't show has no policy here: preparing a summary ahead saves waiting, and the last rung is for when no model
 * answers.
 */
export const ablationPolicies: readonly Policy[] = [
  { ...notOffloaded, ...without("offload", "offloading") },
  { ...palimpsest, ...without("clear", "clearing"), clear: {} },
  { ...notCompacted, ...without("compact", "compaction") },
  {
    ...palimpsest,
    name: "palimpsest-without-early",
    about: "The default, compacted at its threshold and not before.",
    compact: compactWhenFull,
  },
  { ...palimpsest, ...without("audit", "the audit"), summary: { ...summary, check: "none" } },
  { ...palimpsest, ...without("ledger", "the ledger"), summary: summaryAlone },
  { ...palimpsest, ...without("restoration"), compact: restoresNothing, summary: { ...summary, restored: nothing } },
  // These three compensate for each other: what one leaves out another may contain.
  {
    ...palimpsest,
    name: "palimpsest-summary-alone",
    about: "The default without audit, ledger and restoration.",
    compact: restoresNothing,
    summary: { ...summaryAlone, check: "none", restored: nothing },
  },
  withNotes(5_000),
  withNotes(20_000),
  withNotes(40_000),
];

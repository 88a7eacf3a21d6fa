import type { NotesRefusal } from "../../layers/3-notes/keep.ts";
import { planNotesCompact } from "../../layers/3-notes/plan.ts";
import { gate } from "../../layers/4-compact/gate.ts";
import { type EntryId, tokens } from "../../schema/brand.ts";
import { figure } from "../../schema/figure.ts";
import type { Item } from "../../transcript/item.ts";
import { survivors } from "../../transcript/project.ts";
import { type DraftInput, type Ground, groundOf } from "./boundary-draft.ts";
import { gateFor, type Made } from "./made.ts";
import type { Proposal } from "./proposal.ts";

/** Notes in place of a model's summary; or one line for a person why not, absent where nobody has taken any. */
export type FromNotes =
  | {
      readonly kind: "noted";
      readonly ground: Ground;
      readonly made: Extract<Made, { kind: "made" }>;
      /** The newest entry when it was decided what stays. */
      readonly leaf: EntryId | null;
    }
  | { readonly kind: "passed-over"; readonly because?: string };

export interface FromNotesInput extends Omit<DraftInput, "scope"> {
  /** What people and hooks ask of the summary: notes know nothing of it. */
  readonly instructions: readonly string[];
  readonly signal: AbortSignal;
}

/** Asks no model, and waits only for notes that are being taken. */
export async function fromNotes({ instructions, signal, ...input }: FromNotesInput): Promise<FromNotes> {
  const { ask, numbers, compacting, conversation } = input;
  const { notes, session } = compacting;
  // Behind notes something is kept as it is, and that may be what the provider refuses.
  const coversAll = ask.part.kind === "all" && ask.cause !== "refused";
  const isWanted = coversAll && ask.summary === undefined && instructions.length === 0;
  if (notes === undefined || !isWanted || !numbers.switches.notesCompact.value) return { kind: "passed-over" };
  // Where there is no time for a model, there is none for these either: the notes are as they are.
  if (ask.summariser !== "nobody") await notes.settle(signal);
  const [noted, template] = await Promise.all([notes.read(), notes.template()]);
  const { items, pins } = session.fold.projection;
  const { counter } = session.ledger;
  const count = ({ blocks }: Pick<Item, "blocks">): number => blocks.reduce((sum, block) => sum + counter(block), 0);
  const { front, pinned } = survivors(items, pins, {});
  const plan = planNotesCompact({
    noted,
    template,
    items,
    count,
    countText: (text) => tokens(Math.ceil(count({ blocks: [{ type: "text", text }] }))),
    path: notes.path,
    // What is put back is in the draft, which `overThreshold` looks at.
    otherTokens: conversation.line.fixedTokens,
    pinned: [...front, ...pinned],
    thresholdTokens: numbers.thresholds.compact,
  });
  if (plan.kind === "unavailable")
    return plan.why === "no-notes" ? { kind: "passed-over" } : passedOver(refusalTexts[plan.why]);
  const ground = groundOf({ ...input, scope: { covered: plan.covered, kept: plan.kept } });
  const gated = gate({ ...gateFor(ground), summary: plan.summary });
  if (gated.kind === "refused") return passedOver(gated.text);
  const coversUntil = plan.covered.at(-1)?.entry;
  const made = { kind: "made", summary: gated.text, path: "notes", calls: [], changes: gated.changes } as const;
  return { kind: "noted", ground, made: { ...made, coversUntil }, leaf: conversation.line.leaf };
}

/** With ledger and working state: at the threshold it would fire again at once, whoever asked. One line for a person. */
export function overThreshold({ preview: { tokensAfter } }: Proposal, { numbers }: Ground): string | undefined {
  const { compact } = numbers.thresholds;
  if (tokensAfter < compact) return undefined;
  return notUsed(`the context would still have about ${figure(tokensAfter)} tokens.`);
}

export const notUsed = (why: string): string => `The notes were not used: ${why}`;

const passedOver = (why: string): FromNotes => ({ kind: "passed-over", because: notUsed(why) });

const refusalTexts: { readonly [Why in Exclude<NotesRefusal, "no-notes">]: string } = {
  "bare-template": "they hold nothing yet.",
  "cover-gone": "what they cover is no longer in the view.",
  "no-cut": "a reply or a call reaches over the last boundary.",
  "nothing-covered": "everything that they cover would stay.",
  "still-over": "with what they do not cover, the context would still be over the threshold.",
};

import type { Agent } from "../agent/agent.ts";
import { ownTextOf, type Proposal, type Proposed } from "palimpsest/internal/context/compact/proposal";
import { oneLine } from "../human.ts";
import type { TextEdited } from "./edit-text.ts";

export type ProposalAsk = Parameters<Agent["compaction"]["propose"]>[0];

/** How a person is asked about a proposal. None of these may reject. */
export interface Consideration {
  readonly propose: (ask: ProposalAsk) => Promise<Proposed>;
  /** Shows it, where that is not what they see already, and asks. `stopped`: they are gone. */
  readonly decide: (shown: Proposal) => Promise<"commit" | "edit" | "cancel" | "stopped">;
  readonly edit: (text: string) => Promise<TextEdited>;
  /** One line: why nothing came of an edit. */
  readonly tell: (message: string) => Promise<void>;
}

/** `edited`: a summary that the person has written over the proposal's. */
export type Considered =
  | { readonly kind: "commit"; readonly proposal: Proposal; readonly edited?: string }
  | { readonly kind: "cancel" | "stopped"; readonly proposal: Proposal };

/**
 * What becomes of a proposal that a person looks at:
 *
 *   shown ──commit──▶ commit       shown ──cancel──▶ cancel       shown ──stopped──▶ stopped
 *   shown ──edit──▶ edited ──proposed again with that text──▶ shown
 *                   edited ──unchanged, or refused: told──▶ shown as it was
 */
export async function consider(first: Proposal, by: Consideration): Promise<Considered> {
  let edited: string | undefined;
  // What was refused is not lost: the next edit goes on from it.
  let written = first.summary;
  let shown = first;
  for (;;) {
    const answer = await by.decide(shown);
    if (answer === "commit") return { kind: "commit", proposal: first, ...(edited === undefined ? {} : { edited }) };
    if (answer !== "edit") return { kind: answer, proposal: first };
    const change = await by.edit(written);
    if (change.kind === "unchanged") {
      await by.tell(change.message);
      continue;
    }
    written = change.text;
    const again = await by.propose({ ...askOf(first), summary: written, over: ownTextOf(first) });
    if (again.kind === "failed") {
      await by.tell(`this summary can't be used: ${oneLine(again.message)}`);
      continue;
    }
    edited = written;
    shown = withCallsOf(first, again.proposal);
  }
}

const askOf = ({ ask: { part, instructions } }: Proposal): ProposalAsk => ({
  part,
  ...(instructions === undefined ? {} : { instructions }),
});

/** An edited summary asked no model; what the one under it cost is paid all the same, and has to be saved too. */
function withCallsOf({ calls, preview }: Proposal, edited: Proposal): Proposal {
  const money = edited.preview.money;
  if (money === undefined || preview.money === undefined) return { ...edited, calls };
  const { callsNanos } = preview.money;
  const { roundBeforeNanos, roundAfterNanos, breakEvenRounds } = money;
  const later = callsNanos / (roundBeforeNanos - roundAfterNanos);
  const whole = {
    ...money,
    callsNanos,
    ...(breakEvenRounds === undefined ? {} : { breakEvenRounds: Math.ceil(breakEvenRounds + later) }),
  };
  return { ...edited, calls, preview: { ...edited.preview, money: whole } };
}

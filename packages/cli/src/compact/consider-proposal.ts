import type { Agent } from "../agent/agent.ts";
import { ownText, type Proposal, type ProposeOutcome } from "palimpsest/internal/context/compact/proposal";
import type { EditTextOutcome } from "../program/edit-text.ts";
import { joinLines } from "../text/format.ts";

export type ProposalRequest = Parameters<Agent["context"]["compaction"]["propose"]>[0];

/** How the user is asked about a proposal. None of these may reject. */
interface ConsiderDeps {
  readonly propose: (ask: ProposalRequest) => Promise<ProposeOutcome>;
  /** Shows it, unless it is on the screen already, and asks. `stopped`: the user has left. */
  readonly decide: (shown: Proposal) => Promise<"commit" | "edit" | "cancel" | "stopped">;
  readonly edit: (text: string) => Promise<EditTextOutcome>;
  /** One line: why an edit had no effect. */
  readonly tell: (message: string) => Promise<void>;
}

/** `edited`: a summary by which the user has replaced the proposal's. */
export type ConsiderOutcome =
  | { readonly kind: "commit"; readonly proposal: Proposal; readonly edited?: string | undefined }
  | { readonly kind: "cancel" | "stopped"; readonly proposal: Proposal };

/**
 * What happens to a proposal that the user looks at:
 *
 *   shown ──commit──▶ commit       shown ──cancel──▶ cancel       shown ──stopped──▶ stopped
 *   shown ──edit──▶ edited ──proposed again with that text──▶ shown
 *                   edited ──unchanged or refused, with a message──▶ shown as it was
 */
export async function considerProposal(first: Proposal, deps: ConsiderDeps): Promise<ConsiderOutcome> {
  let edited: string | undefined;
  // A refused text is not lost: the next edit continues from it.
  let written = first.summary;
  let shown = first;
  for (;;) {
    const answer = await deps.decide(shown);
    if (answer === "commit") return { kind: "commit", proposal: first, edited };
    if (answer !== "edit") return { kind: answer, proposal: first };
    const change = await deps.edit(written);
    if (change.kind === "unchanged") {
      await deps.tell(change.message);
      continue;
    }
    written = change.text;
    const proposed = await deps.propose({ ...requestAgain(first), summary: written, over: ownText(first) });
    if (proposed.kind === "failed") {
      await deps.tell(`this summary can't be used: ${joinLines(proposed.message)}`);
      continue;
    }
    edited = written;
    shown = withEarlierCalls(first, proposed.proposal);
  }
}

const requestAgain = ({ ask: { part, instructions } }: Proposal): ProposalRequest => ({
  part,
  ...(instructions === undefined ? {} : { instructions }),
});

/** An edited summary asked no model; but the summary before it was paid for, and has to pay off too. */
function withEarlierCalls({ calls, preview }: Proposal, edited: Proposal): Proposal {
  const money = edited.preview.money;
  if (money === undefined || preview.money === undefined) return { ...edited, calls };
  const { callsNanos } = preview.money;
  const { roundBeforeNanos, roundAfterNanos, breakEvenRounds } = money;
  const extraRounds = callsNanos / (roundBeforeNanos - roundAfterNanos);
  const total = {
    ...money,
    callsNanos,
    ...(breakEvenRounds === undefined ? {} : { breakEvenRounds: Math.ceil(breakEvenRounds + extraRounds) }),
  };
  return { ...edited, calls, preview: { ...edited.preview, money: total } };
}

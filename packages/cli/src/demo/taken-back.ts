import type { Agent } from "../agent/agent.ts";
import { errorWords } from "palimpsest/internal/layers/4-compact/fact-lines";
import type { Proposal } from "palimpsest/internal/context/compact/proposal";
import type { Session } from "palimpsest/internal/session/session";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { humanCount } from "../human.ts";
import { auditText } from "../compact/preview-text.ts";
import { returnedBy } from "../returned-by.ts";
import { fingerprint } from "./fingerprint.ts";
import { pinnedWords, release } from "./facts.ts";
import { labelled, type Teller } from "./teller.ts";

export interface HandCompaction {
  readonly boundary: EntryId;
  /** Of the view, before and after it. */
  readonly before: string;
  readonly after: string;
}

interface Asked {
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** As a person asks for it: proposed, looked at, committed. Undefined where it came to nothing. */
export async function compactByHand(teller: Teller, { agent, signal }: Asked): Promise<HandCompaction | undefined> {
  const before = fingerprint(agent.session);
  const proposed = await returnedBy(agent.compaction.propose({ part: { kind: "all" } }, signal));
  if (proposed.kind === "failed") return failed(teller, proposed.message);
  const { proposal } = proposed;
  await teller.say(labelled("audit", `${auditText(proposal.preview.audit)}, before the repair`));
  await teller.claim({
    label: "proposed",
    isSo: fingerprint(agent.session) === before,
    text: "the view is as it was until it is committed",
  });
  const committed = await returnedBy(agent.compaction.commit(proposal));
  if (committed.kind === "failed") return failed(teller, committed.message);
  const [boundary] = committed.entries;
  if (boundary === undefined) throw new Error("a compaction without a boundary");
  const sizes = `${humanCount(committed.tokensBefore)} → ${humanCount(committed.tokensAfter)} tokens`;
  await teller.say(labelled("committed", sizes));
  await claimCarried(teller, { proposal, session: agent.session });
  return { boundary, before, after: fingerprint(agent.session) };
}

async function failed(teller: Teller, message: string): Promise<undefined> {
  await teller.claim({ label: "compact", isSo: false, text: message });
}

/** What the summary forgot stands behind it all the same, beside what is carried in any case. */
async function claimCarried(
  teller: Teller,
  { proposal, session }: { readonly proposal: Proposal; readonly session: Session },
): Promise<void> {
  const view = JSON.stringify(session.view().messages);
  const { missing } = proposal.preview.audit;
  const forgotten = missing.flatMap((fact) => (fact.kind === "last-error" ? [errorWords(fact.fact)] : []));
  const words = [release, pinnedWords, ...forgotten];
  await teller.claim({
    label: "carried",
    isSo: missing.length > 0 && words.every((one) => view.includes(one)),
    text: "what the summary forgot is added, the person's words are there, and what was pinned",
  });
}

export interface TakenBack extends HandCompaction {
  readonly agent: Agent;
}

/** Undone, and undone again. */
export async function undoAndRedo(
  teller: Teller,
  { agent: { session, view }, boundary, before, after }: TakenBack,
): Promise<void> {
  const undone = await view.undo({ target: boundary });
  if (undone.kind !== "undone") throw new Error(`undo: ${undone.kind}`);
  await teller.claim({
    label: "undone",
    isSo: fingerprint(session) === before,
    text: "byte-identical to the view before the compaction",
  });
  const [target] = undone.undos;
  if (target === undefined) throw new Error("the undo has no entry");
  const redone = await view.undo({ target });
  if (redone.kind !== "undone") throw new Error(`redo: ${redone.kind}`);
  await teller.claim({
    label: "redone",
    isSo: fingerprint(session) === after,
    text: "byte-identical to the view after it",
  });
}

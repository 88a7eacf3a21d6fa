import type { Agent } from "../agent/agent.ts";
import { errorText } from "palimpsest/internal/layers/4-compact/facts/fact-lines";
import type { Proposal } from "palimpsest/internal/context/compact/proposal";
import type { Session } from "palimpsest/internal/session/session";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { formatNumber } from "../text/format.ts";
import { auditText } from "../compact/preview-text.ts";
import { drainEvents } from "../compact/clear-results.ts";
import { pinnedText, releaseName } from "./facts.ts";
import { formatLabelled, type Narrator } from "./narrator.ts";
import { createHash } from "node:crypto";

interface HandCompaction {
  readonly boundary: EntryId;
  /** Of the view, before and after it. */
  readonly before: string;
  readonly after: string;
}

/** As a person asks for it: proposed, looked at, committed. Undefined where it came to nothing. */
export async function compactByHand(
  teller: Narrator,
  { agent, signal }: { readonly agent: Agent; readonly signal: AbortSignal },
): Promise<HandCompaction | undefined> {
  const before = viewFingerprint(agent.session);
  const proposed = await drainEvents(agent.compaction.propose({ part: { kind: "all" } }, signal));
  if (proposed.kind === "failed") return claimFailure(teller, proposed.message);
  const { proposal } = proposed;
  await teller.say(formatLabelled("audit", `${auditText(proposal.preview.audit)}, before the repair`));
  await teller.claim({
    label: "proposed",
    isSo: viewFingerprint(agent.session) === before,
    text: "the view is as it was until it is committed",
  });
  const committed = await drainEvents(agent.compaction.commit(proposal));
  if (committed.kind === "failed") return claimFailure(teller, committed.message);
  const [boundary] = committed.entries;
  if (boundary === undefined) throw new Error("a compaction without a boundary");
  const sizes = `${formatNumber(committed.tokensBefore)} → ${formatNumber(committed.tokensAfter)} tokens`;
  await teller.say(formatLabelled("committed", sizes));
  await claimCarried(teller, { proposal, session: agent.session });
  return { boundary, before, after: viewFingerprint(agent.session) };
}

async function claimFailure(teller: Narrator, message: string): Promise<undefined> {
  await teller.claim({ label: "compact", isSo: false, text: message });
}

/** What the summary forgot stands behind it all the same, beside what is carried in any case. */
async function claimCarried(
  teller: Narrator,
  { proposal, session }: { readonly proposal: Proposal; readonly session: Session },
): Promise<void> {
  const view = JSON.stringify(session.view().messages);
  const { missing } = proposal.preview.audit;
  const forgotten = missing.flatMap((fact) => (fact.kind === "last-error" ? [errorText(fact.fact)] : []));
  const words = [releaseName, pinnedText, ...forgotten];
  await teller.claim({
    label: "carried",
    isSo: missing.length > 0 && words.every((one) => view.includes(one)),
    text: "what the summary forgot is added, the person's words are there, and what was pinned",
  });
}

interface UndoAndRedoInput extends HandCompaction {
  readonly agent: Agent;
}

/** Undone, and undone again. */
export async function undoAndRedo(
  teller: Narrator,
  { agent: { session, view }, boundary, before, after }: UndoAndRedoInput,
): Promise<void> {
  const undone = await view.undo({ target: boundary });
  if (undone.kind !== "undone") throw new Error(`undo: ${undone.kind}`);
  await teller.claim({
    label: "undone",
    isSo: viewFingerprint(session) === before,
    text: "byte-identical to the view before the compaction",
  });
  const [target] = undone.undos;
  if (target === undefined) throw new Error("the undo has no entry");
  const redone = await view.undo({ target });
  if (redone.kind !== "undone") throw new Error(`redo: ${redone.kind}`);
  await teller.claim({
    label: "redone",
    isSo: viewFingerprint(session) === after,
    text: "byte-identical to the view after it",
  });
}

/** Two views with the same one are the same byte for byte. */
const viewFingerprint = (session: Session): string =>
  createHash("sha256").update(JSON.stringify(session.view().messages)).digest("hex");

import type { Baseline } from "../cache/baseline.ts";
import type { FixedPart } from "../tokens/fixed-part.ts";
import type { Session } from "../session/session.ts";
import type { Conversation } from "./conversation.ts";
import { recordedReads } from "./recorded-reads.ts";

type ReadSession = Pick<Session, "fold" | "ledger" | "readBy">;

/** What requests carry besides messages, from here on, and what it was counted to. */
export function reckonWith(
  session: ReadSession,
  { baseline, countedFixed }: Pick<Conversation, "baseline" | "countedFixed">,
): void {
  session.readBy(baseline.model);
  session.ledger.sendsOwn();
  session.ledger.carries(fixedPartIn(baseline), countedFixed?.());
}

export const fixedPartIn = ({ model, systemBlocks, tools }: Baseline): FixedPart => ({
  model,
  systemPrompts: systemBlocks.map(({ text }) => text),
  tools,
  memoryFiles: [],
});

/**
 * Behind an undo or a rewind: what a conversation keeps beside its session is as the session tells it now. The next request
 * writes to the cache what the change has moved, and nobody is told of that as of a loss.
 */
export async function followUndo(conversation: Conversation, session: ReadSession): Promise<void> {
  const { breaks, compacting, files } = conversation;
  reckonWith(session, conversation);
  breaks.expect("undo");
  // A summary that was made ahead stands for another line.
  await compacting?.preparation?.cancel();
  for (const [path] of Array.from(files.entries())) files.delete(path);
  for (const [path, read] of recordedReads(session.fold)) files.set(path, read);
}

/** Behind a boundary, or where a session was read whole: what the view does not need is left to the store. Never rejects. */
export async function shedCovered(
  conversation: Pick<Conversation, "baseline" | "countedFixed">,
  session: ReadSession & Pick<Session, "shed">,
): Promise<void> {
  await session.shed();
  reckonWith(session, conversation);
}

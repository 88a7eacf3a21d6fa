import type { Baseline } from "../../cache/baseline.ts";
import type { Session } from "../session.ts";
import type { Conversation } from "./conversation.ts";
import { recordedReads } from "./recorded-reads.ts";

type ReadSession = Pick<Session, "fold" | "ledger" | "readBy">;

/** What requests carry besides messages, from here on. */
export function reckonWith(session: ReadSession, { model, systemBlocks, tools }: Baseline): void {
  session.readBy(model);
  session.ledger.sendsOwn();
  session.ledger.carries({ model, systemPrompts: systemBlocks.map(({ text }) => text), tools, memoryFiles: [] });
}

/**
 * Behind an undo or a rewind: what a conversation keeps beside its session is as the session tells it now. The next request
 * writes to the cache what the change has moved, and nobody is told of that as of a loss.
 */
export async function followUndo(
  { baseline, breaks, compacting, files }: Conversation,
  session: ReadSession,
): Promise<void> {
  reckonWith(session, baseline);
  breaks.expect("undo");
  // A summary that was made ahead stands for another line.
  await compacting?.preparation?.cancel();
  for (const [path] of Array.from(files.entries())) files.delete(path);
  for (const [path, read] of recordedReads(session.fold)) files.set(path, read);
}

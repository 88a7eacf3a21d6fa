import type { Baseline } from "../cache/baseline.ts";
import type { Conversation } from "../loop/agent/conversation.ts";
import { recordedReads } from "../loop/agent/recorded-reads.ts";
import type { Session } from "../loop/session.ts";
import type { Toolbox } from "./toolbox.ts";

/** What requests carry besides messages, from here on. */
export function reckonWith(session: Session, { model, systemBlocks, tools }: Baseline): void {
  session.readBy(model);
  session.ledger.sendsOwn();
  session.ledger.carries({ model, systemPrompts: systemBlocks.map(({ text }) => text), tools, memoryFiles: [] });
}

export interface CarriedOver {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly box: Pick<Toolbox, "readAgain">;
}

/**
 * Behind an undo or a rewind: what the agent keeps beside its session is as the session tells it now. The next request
 * writes to the cache what the change has moved, and nobody is told of that as of a loss.
 */
export async function carryOver({ session, conversation, box }: CarriedOver): Promise<void> {
  reckonWith(session, conversation.baseline);
  conversation.breaks.expect("undo");
  // A summary that was made ahead stands for another line.
  await conversation.compacting?.preparation?.cancel();
  const { files } = conversation;
  for (const [path] of Array.from(files.entries())) files.delete(path);
  for (const [path, read] of recordedReads(session.fold)) files.set(path, read);
  await box.readAgain();
}

import type { Conversation } from "../loop/agent/conversation.ts";
import { followUndo } from "../loop/agent/follow-undo.ts";
import type { Session } from "../loop/session.ts";
import type { Toolbox } from "./toolbox.ts";

export interface CarriedOver {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly box: Pick<Toolbox, "readAgain">;
}

/** Behind an undo or a rewind: what the agent keeps beside its session is as the session tells it now. */
export async function carryOver({ session, conversation, box }: CarriedOver): Promise<void> {
  await followUndo(conversation, session);
  await box.readAgain();
}

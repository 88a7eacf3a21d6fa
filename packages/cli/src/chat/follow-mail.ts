import type { Agent } from "../agent/agent.ts";
import type { Step, WorkQueue } from "./work-queue.ts";

interface FollowMailInput {
  readonly work: Pick<WorkQueue, "kind" | "rest" | "start">;
  /** Whether the chat still talks to the agent. */
  readonly isCurrent: () => boolean;
  readonly tell: (text: string) => void;
  /** A turn that answers what has arrived. */
  readonly answer: Step;
  /** Aborted when the agent is left. */
  readonly signal: AbortSignal;
}

/**
 * Messages of other agents that arrive while nothing runs; a turn gets them by itself. A member of a team answers them;
 * elsewhere the user is told, and the model gets them with the next turn.
 */
export async function followMail(
  { mail }: Pick<Agent, "mail">,
  { work, isCurrent, tell, answer, signal }: FollowMailInput,
): Promise<void> {
  if (mail === undefined) return;
  while (isCurrent() && (await mail.waitForNews(signal)) === "news") {
    await work.rest();
    if (!isCurrent()) return;
    await mail.drain();
    const texts = mail.takeNews();
    for (const text of texts) tell(text);
    if (mail.membership === undefined) {
      if (texts.length > 0) tell("The model gets it with your next message.");
      continue;
    }
    // The user may have begun something meanwhile; a turn of theirs answers the mail as well.
    await work.rest();
    if (isCurrent() && mail.isUnanswered && work.kind === undefined) work.start(answer);
  }
}

import type { AgentRun } from "../../schema/agent-run.ts";
import { oneLine } from "../../text/to-printable.ts";
import { wrapElement } from "../../text/wrap-element.ts";

/**
 * Stands for the result of each call of the reply that a fork begins with: the same bytes for every fork of that reply, so
 * that they share one cached prefix.
 */
export const forkPlaceholder =
  "[This call goes on in the conversation that you were forked from. Its result is not shown here.]";

/** The last block of a fork's first request, and the only one that differs from its siblings'. The tag marks it as a fork. */
export const forkDirective = (task: string): string =>
  wrapElement(
    forkTag,
    [
      "You are now a fork of this conversation: you see all of it, and nothing that you do changes it. Other forks may work beside you.",
      "Do only the task below, with the tools that you have. Do not start agents, and do not answer for the user. Your last reply is your report: what you found or did, with paths and names, in at most a few hundred words.",
      "",
      task,
    ].join("\n"),
  );

const forkTag = "fork_task";

/** For the model, when a session is opened again in which agents were running. */
export const lostAgentsText = (lost: readonly Pick<AgentRun, "name" | "type" | "description">[]): string =>
  [
    "These agents were at work when the session was interrupted, and they have stopped. Their transcripts are kept: send_message to a name makes that agent go on where it was. If nothing of it is needed any more, ignore it.",
    ...lost.map(({ name, type, description }) => `- ${name} (${type}): ${oneLine(description)}`),
  ].join("\n");

/** For who asks for an agent or sends a message. */
export const closingText = "The session is being closed.";

/** For who sends a message to an agent of an agent; `above` started it. */
export const parentGoneText = ({ name }: Pick<AgentRun, "name">, above: Pick<AgentRun, "name"> | undefined): string =>
  above === undefined
    ? `${name} was started by an agent that is not known any more, and can't go on without it. Start another agent.`
    : `${name} was started by ${above.name}, which does not run now. Send the message to ${above.name}.`;

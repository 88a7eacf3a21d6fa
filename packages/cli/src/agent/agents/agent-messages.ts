import type { AgentSpec } from "palimpsest/internal/ports/agent-host";
import { mainName } from "palimpsest/internal/schema/agent-run";
import type { MessageOutcome, MessageSender } from "../../tool/send-message-tool.ts";

/** An agent writes to the other agents of its session and to the main conversation, and to nobody else. */
export const agentMessages = ({ agents, name }: Pick<AgentSpec, "agents" | "name">): MessageSender => ({
  send: async ({ to, body }): Promise<MessageOutcome> => {
    if (body.type !== "text") return { kind: "refused", message: "Agents of a session take plain words." };
    if (to === name) return { kind: "refused", message: "That is you." };
    const outcome = await agents.send({ to, text: body.text, from: { kind: "agent", name } });
    switch (outcome.kind) {
      case "all":
        return { kind: "sent", message: `Sent to ${outcome.names.join(", ")}.` };
      case "main":
        return { kind: "sent", message: "Sent to the main conversation, which gets it before its next request." };
      case "queued":
      case "resumed":
        return { kind: "sent", message: `Sent to ${outcome.run.name}.` };
      case "unknown":
        return {
          kind: "refused",
          message: `There is no agent ${to}. There are ${[mainName, ...outcome.names].join(", ")}.`,
        };
      case "refused":
        return outcome;
    }
  },
});

import { renderAgentMessage } from "../layers/7-agents/render-agent-message.ts";
import type { AgentText } from "../ports/agents.ts";
import { teammateAddress } from "../schema/agent-address.ts";
import type { Session } from "../session/session.ts";
import { agentMessageAttachmentType } from "../transcript/attachment-text.ts";
import type { Draft } from "../transcript/draft.ts";

/** Marked as what it is: only the user's own words are the user's. */
export function messageDraft({ id }: Pick<Session, "id">, { text, from }: Pick<AgentText, "text" | "from">): Draft {
  if (from.kind === "user") return { type: "attachment", attachment: { type: "queued_command", prompt: text } };
  return reportDraft(renderAgentMessage({ from: teammateAddress(from.name, id), body: { type: "text", text } }));
}

/** `content`: in an element of its own. */
export const reportDraft = (content: string): Draft => ({
  type: "attachment",
  attachment: { type: agentMessageAttachmentType, content },
});

/** Identifies the reply whose calls run. */
export function newestReply({ fold }: Pick<Session, "fold">): string {
  const reply = fold.path.entries.findLast((entry) => entry.kind === "assistant" && !entry.synthetic);
  return (reply?.kind === "assistant" ? reply.messageId : undefined) ?? reply?.id ?? "";
}

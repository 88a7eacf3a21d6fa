import { z } from "zod";
import type { Envelope } from "../ports/mailbox.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import { addressShape } from "../schema/agent-address.ts";
import {
  type AgentMessage,
  agentMessageShape,
  type AgentProtocol,
  newProtocol,
  receiveMessage,
  sendMessage,
} from "../schema/agent-message.ts";
import type { MailboxAddress, SessionId } from "../schema/brand.ts";
import { tryParseJson } from "../schema/json.ts";
import { agentMessageAttachmentType } from "../transcript/attachment-text.ts";
import type { Draft } from "../transcript/draft.ts";
import { scanLines } from "./scan-lines.ts";

/** A message between two agents as a transcript records it: only what its state depends on. */
type SentRecord = Readonly<z.infer<typeof recordShape>>;

/** What an agent was sent, as the entry of its transcript. `content`: as the model is shown it. */
export const arrivedMessageDraft = ({ from, to, body }: Envelope, content: string): Draft => ({
  type: "attachment",
  attachment: {
    type: agentMessageAttachmentType,
    content,
    ...(movesProtocol(body) ? { record: { from, to, message: withoutTexts(body) } } : { from }),
  },
});

/** What an agent has sent, as the entry of its transcript. Undefined: it changes no state. */
export const sentMessageDraft = (sent: SentRecord): Draft | undefined =>
  movesProtocol(sent.message)
    ? { type: "setting", name: sentSetting, value: { ...sent, message: withoutTexts(sent.message) } }
    : undefined;

/**
 * The state of an agent's requests and answers: the fold of what it sent and received, in the order of its log. Also
 * behind boundaries and on abandoned branches, because what was sent stays sent.
 */
export async function readProtocol(
  { transcripts }: TranscriptsDep,
  { session, leader }: { readonly session: SessionId; readonly leader: MailboxAddress | undefined },
): Promise<AgentProtocol> {
  const source = await transcripts.openForReading(session);
  if (source === undefined) return newProtocol;
  try {
    let protocol = newProtocol;
    for await (const lines of scanLines(source)) {
      if (lines.kind !== "lines") continue;
      for (const line of new TextDecoder().decode(lines.bytes).split("\n"))
        if (marks.some((mark) => line.includes(mark))) protocol = applyLine(protocol, { line, leader });
    }
    return protocol;
  } finally {
    await source.close();
  }
}

function applyLine(
  protocol: AgentProtocol,
  { line, leader }: { readonly line: string; readonly leader: MailboxAddress | undefined },
): AgentProtocol {
  const json = tryParseJson(line);
  const sent = sentShape.safeParse(json).data?.value;
  const received = receivedShape.safeParse(json).data?.attachment.record;
  const step =
    sent !== undefined
      ? sendMessage(protocol, { message: sent.message, self: sent.from, peer: sent.to, leader })
      : received !== undefined
        ? receiveMessage(protocol, { message: received.message, self: received.to, peer: received.from, leader })
        : undefined;
  return step?.kind === "next" ? step.protocol : protocol;
}

const movesProtocol = ({ type }: AgentMessage): boolean => type.endsWith("_request") || type.endsWith("_response");

/** A plan may have many pages, which stand in the call or in the shown text already. */
const withoutTexts = (message: AgentMessage): AgentMessage =>
  message.type === "plan_approval_request" ? { ...message, plan: "" } : message;

const sentSetting = "agents.sent";
const marks = [`"${sentSetting}"`, `"${agentMessageAttachmentType}"`];
const recordShape = z.object({ from: addressShape, to: addressShape, message: agentMessageShape });
/** A setting that is repeated behind a boundary (`again`) was sent once. */
const sentShape = z.object({
  type: z.literal("setting"),
  name: z.literal(sentSetting),
  value: recordShape,
  again: z.undefined().optional(),
});
const receivedShape = z.object({
  attachment: z.object({ type: z.literal(agentMessageAttachmentType), record: recordShape }),
});

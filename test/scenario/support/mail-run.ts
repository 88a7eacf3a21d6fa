import { renderAgentMessage } from "../../../packages/palimpsest/src/layers/7-agents/render-agent-message.ts";
import type { Mailbox } from "../../../packages/palimpsest/src/ports/mailbox.ts";
import { sessionAddress, teammateAddress } from "../../../packages/palimpsest/src/schema/agent-address.ts";
import { envelopeId, millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import { appendBoundary } from "../../../packages/palimpsest/src/session/append-boundary.ts";
import { SessionMail } from "../../../packages/palimpsest/src/session/session-mail.ts";
import { userDraft } from "../../../packages/palimpsest/src/transcript/draft.ts";
import { fileDeps, openedSession } from "./project.ts";

export const receiver = sessionAddress("s1");
export const senders = ["ann", "bob"] as const;
export const perSender = 3;
export const messageText = (sender: string, n: number): string => `text ${n} of ${sender}.`;

export async function openMailbox(folder: string): Promise<Mailbox> {
  const opened = await fileDeps(folder, "always").mailboxes.open(receiver);
  if (opened.kind !== "open") throw new Error(opened.message);
  return opened.mailbox;
}

/** What the sending process does, the same each time it is started. */
export async function sendAll(folder: string): Promise<void> {
  const { mailboxes } = fileDeps(folder, "always");
  for (let n = 0; n < perSender; n += 1)
    for (const sender of senders) {
      const outcome = await mailboxes.send({
        id: envelopeId(`${sender}-${n}`),
        from: teammateAddress(sender, "team"),
        to: receiver,
        at: millis(n),
        body: { type: "text", text: messageText(sender, n) },
      });
      if (outcome.kind !== "sent") throw new Error(JSON.stringify(outcome));
    }
}

/** What the receiving process does: resumes its session, handles what is unread, compacts, handles what is unread. */
export async function receiveAll(folder: string): Promise<void> {
  const deps = fileDeps(folder, "always");
  const session = await openedSession(deps, "s1", "resume");
  const mail = new SessionMail({ mailbox: await openMailbox(folder), session, transcripts: deps.transcripts });
  for (const step of ["before", "after"] as const) {
    const outcome = await mail.drain((envelope) => userDraft(renderAgentMessage(envelope)));
    if (outcome.kind !== "drained") throw new Error(JSON.stringify(outcome));
    if (step === "before") await appendBoundary(deps, session, { summary: "In short.", trigger: "manual" });
  }
  await session.close();
}

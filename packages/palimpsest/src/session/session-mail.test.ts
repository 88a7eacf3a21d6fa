import { describe, expect, it } from "vitest";
import { append, logBytes, openedForTest, reopened, testDeps, user } from "../../../../test/fixture/session.ts";
import { renderAgentMessage } from "../layers/7-agents/render-agent-message.ts";
import type { Envelope, Mailbox } from "../ports/mailbox.ts";
import { sessionAddress, teammateAddress } from "../schema/agent-address.ts";
import { envelopeId, millis } from "../schema/brand.ts";
import { memoryMailboxes } from "../store/memory/memory-mailboxes.ts";
import { userDraft } from "../transcript/draft.ts";
import { appendBoundary } from "./append-boundary.ts";
import { SessionMail } from "./session-mail.ts";

const ann = teammateAddress("ann", "t");
const toDraft = (envelope: Envelope) => userDraft(renderAgentMessage(envelope));

async function makeWorld() {
  const mailboxes = memoryMailboxes();
  const opened = await mailboxes.open(sessionAddress("s"));
  if (opened.kind !== "open") throw new Error(opened.message);
  const send = (id: string) =>
    mailboxes.send({
      id: envelopeId(id),
      from: ann,
      to: "bridge:s",
      at: millis(1),
      body: { type: "text", text: `text of ${id}` },
    });
  const deps = testDeps({ tailBytes: 200 });
  return { mailbox: opened.mailbox, send, deps, session: await openedForTest(deps) };
}

/** A mailbox whose marks never arrive: its process is killed before each. */
const killedBeforeMark = (mailbox: Mailbox): Mailbox => ({
  address: mailbox.address,
  unread: () => mailbox.unread(),
  waitForNews: (signal) => mailbox.waitForNews(signal),
  markRead: async () => ({ kind: "marked" }),
});

describe("the mail of a session", () => {
  it("becomes entries that name their message and show it as quoted text", async () => {
    const { mailbox, send, deps, session } = await makeWorld();
    await send("m1");
    const mail = new SessionMail({ mailbox, session, transcripts: deps.transcripts });
    expect(await mail.drain(toDraft)).toMatchObject({ kind: "drained", handled: [{ id: "m1" }] });
    const line = JSON.parse(new TextDecoder().decode(await logBytes(deps)).trimEnd()) as object;
    expect(line).toMatchObject({ type: "user", agentMessage: { id: "m1", from: ann, sequence: 1 } });
    expect(JSON.stringify(session.view().messages)).toContain("> text of m1");
  });

  it("is not handled again by the next process, across a compaction that covers it", async () => {
    const { mailbox, send, deps, session } = await makeWorld();
    for (const id of ["m1", "m2"]) await send(id);
    const first = new SessionMail({ mailbox: killedBeforeMark(mailbox), session, transcripts: deps.transcripts });
    expect(await first.drain(toDraft)).toMatchObject({ handled: [{ id: "m1" }, { id: "m2" }] });
    expect(await first.drain(toDraft)).toMatchObject({ handled: [] });
    await append(session, user(`Go on, and quote "agentMessage":{"id":"m3"}.`));
    await appendBoundary(deps, session, { summary: "In short.", trigger: "manual" });
    await append(session, user("after"));
    const again = await reopened(deps, session);
    expect(JSON.stringify(again.view().messages)).not.toContain("text of m1");
    await send("m3");
    const second = new SessionMail({ mailbox, session: again, transcripts: deps.transcripts });
    expect(await second.drain(toDraft)).toMatchObject({ handled: [{ id: "m3" }] });
    expect(await mailbox.unread()).toMatchObject({ envelopes: [] });
    const log = new TextDecoder().decode(await logBytes(deps));
    for (const id of ["m1", "m2", "m3"]) expect(log.split(`> text of ${id}`)).toHaveLength(2);
  });

  it("stays unread if the transcript can't be written", async () => {
    const { mailbox, send, deps, session } = await makeWorld();
    for (const id of ["m1", "m2"]) await send(id);
    const full = { kind: "failed", why: "disk-full", message: "no space left" } as const;
    const refusing = { id: session.id, append: async () => full };
    const mail = new SessionMail({ mailbox, session: refusing, transcripts: deps.transcripts });
    expect(await mail.drain(toDraft)).toMatchObject({ kind: "left", handled: [] });
    const later = new SessionMail({ mailbox, session, transcripts: deps.transcripts });
    expect(await later.drain(toDraft)).toMatchObject({ kind: "drained", handled: [{ id: "m1" }, { id: "m2" }] });
  });
});

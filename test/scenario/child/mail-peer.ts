/**
 * One of several processes that send to each other and record what they get, until they are killed:
 * `node mail-peer.ts <folder> <index> <peers> <count>`. It begins where its transcript says that an earlier one ended.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { millis, envelopeId, sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { drainMailbox } from "../../../packages/palimpsest/src/session/drain-mailbox.ts";
import { fileMailboxes } from "../../../packages/palimpsest/src/store/files/file-mailboxes.ts";
import { fileTranscripts } from "../../../packages/palimpsest/src/store/files/file-transcripts.ts";
import { messageId, peerAddress, peerName, readPeer, receiverIndex } from "../support/mail-peers.ts";

const [folder = "", ownText = "", peersText = "", countText = ""] = process.argv.slice(2);
const [own, peers, count] = [Number(ownText), Number(peersText), Number(countText)];
const deps = { now: () => millis(Date.now()), uuid: randomUUID };
const transcripts = fileTranscripts({ deps, folder, durability: "never" });
const mailboxes = fileMailboxes({ deps, folder: `${folder}/mail`, durability: "never" });

const opened = await transcripts.openForWriting(sessionId(peerName(own)));
const box = await mailboxes.open(peerAddress(own));
if (opened.kind !== "open" || box.kind !== "open") throw new Error(JSON.stringify([opened, box]));
const { writer } = opened;
const { mailbox } = box;
const before = await readPeer(folder, own);
const recorded = new Set(before.handled);
const record = async (line: object): Promise<void> => {
  const outcome = await writer.append([JSON.stringify({ type: "user", ...line })]);
  if (outcome.kind === "failed") throw new Error(outcome.message);
};

async function sendAll(): Promise<void> {
  for (let n = before.sent; n < count; n += 1) {
    const to = receiverIndex({ own, n, peers });
    for (;;) {
      const outcome = await mailboxes.send({
        id: envelopeId(messageId(own, n)),
        from: peerAddress(own),
        to: peerName(to),
        at: deps.now(),
        body: { type: "text", text: `message ${n} ${"x".repeat(n % 200)}` },
      });
      if (outcome.kind === "sent") break;
      // A receiver that is down, or behind.
      if (outcome.kind !== "full") throw new Error(JSON.stringify(outcome));
      await wait(5);
    }
    await record({ sent: n + 1 });
  }
}

async function receiveAll(): Promise<void> {
  const never = new AbortController().signal;
  for (;;) {
    const outcome = await drainMailbox(mailbox, {
      isHandled: async (id) => recorded.has(id),
      handle: async ({ id }) => {
        await record({ handled: id });
        recorded.add(id);
        return "handled";
      },
    });
    if (outcome.kind !== "drained") throw new Error(JSON.stringify(outcome));
    process.stdout.write(`${recorded.size}\n`);
    await mailbox.waitForNews(never);
  }
}

await Promise.all([sendAll(), receiveAll()]);

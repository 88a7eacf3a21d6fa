import { describe, expect, it } from "vitest";
import type { Envelope, Mailbox, Mailboxes, SendOutcome } from "../../packages/palimpsest/src/ports/mailbox.ts";
import { sessionAddress, teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import type { AgentMessage } from "../../packages/palimpsest/src/schema/agent-message.ts";
import { envelopeId, type MailboxAddress, millis } from "../../packages/palimpsest/src/schema/brand.ts";

export interface MailboxesUnderTest {
  readonly name: string;
  readonly make: () => Promise<Mailboxes>;
}

export const lead = teammateAddress("lead", "docs");
export const ann = teammateAddress("ann", "docs");
const bob = teammateAddress("bob", "docs");
const stranger = teammateAddress("ann", "other");

export async function openBox(mailboxes: Mailboxes, address: MailboxAddress): Promise<Mailbox> {
  const opened = await mailboxes.open(address);
  if (opened.kind !== "open") throw new Error(opened.message);
  return opened.mailbox;
}

export async function readAll(mailbox: Pick<Mailbox, "unread">): Promise<readonly Envelope[]> {
  const outcome = await mailbox.unread();
  if (outcome.kind !== "unread") throw new Error(outcome.message);
  expect(outcome.damagedLines).toBe(0);
  return outcome.envelopes;
}

export const textOf = ({ body }: Envelope): string => (body.type === "text" ? body.text : body.type);

export const sendText = (
  mailboxes: Mailboxes,
  { id, from = lead, to, text = id }: { id: string; from?: MailboxAddress; to: string; text?: string },
): Promise<SendOutcome> =>
  mailboxes.send({ id: envelopeId(id), from, to, at: millis(1), body: { type: "text", text } });

/** The rules of the port, for every implementation alike. */
export function mailboxesContract({ name, make }: MailboxesUnderTest): void {
  describe(`mailboxes in ${name}`, () => {
    it("deliver a message to a teammate by its name, with who sent it, when and as its which", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      expect(await sendText(mailboxes, { id: "1", to: "ann", text: "hello" })).toEqual({
        kind: "sent",
        delivered: [ann],
      });
      expect(await readAll(box)).toEqual([
        { id: "1", from: lead, to: ann, at: 1, sequence: 1, body: { type: "text", text: "hello" } },
      ]);
    });

    it("keep structured messages as they are, and every character of a text", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      const bodies: AgentMessage[] = [
        { type: "plan_approval_request", requestId: "p", plan: "1. read\n2. write" },
        { type: "text", text: '\u2028\u0000"\\\n{"id":"x"}\n👩‍💻 ', summary: "odd" },
        { type: "idle_notice", why: "available", taskId: "7" },
      ];
      for (const [nth, body] of bodies.entries())
        await mailboxes.send({ id: envelopeId(String(nth)), from: lead, to: "ann", at: millis(1), body });
      expect((await readAll(box)).map(({ body }) => body)).toEqual(bodies);
    });

    it("show messages until they are marked, each sender's in its order with its own count", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      for (const id of ["a1", "b1", "a2", "b2", "a3"])
        await sendText(mailboxes, { id, to: "ann", from: id.startsWith("a") ? lead : bob });
      const seen = await readAll(box);
      expect(seen.map(({ id, sequence }) => `${id} ${sequence}`)).toEqual(["a1 1", "b1 1", "a2 2", "b2 2", "a3 3"]);
      expect(await readAll(box)).toEqual(seen);
      await box.markRead(["a1", "b2", "nonsense"].map(envelopeId));
      await box.markRead([envelopeId("a1")]);
      expect((await readAll(box)).map(textOf)).toEqual(["b1", "a2", "a3"]);
      expect((await readAll(await openBox(mailboxes, ann))).map(textOf)).toEqual(["b1", "a2", "a3"]);
    });

    it("store a message once that is sent again, also after it was read", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      for (const id of ["1", "1", "2", "1"])
        expect(await sendText(mailboxes, { id, to: "ann" })).toMatchObject({ kind: "sent" });
      expect((await readAll(box)).map(textOf)).toEqual(["1", "2"]);
      await box.markRead(["1", "2"].map(envelopeId));
      expect(await sendText(mailboxes, { id: "2", to: "ann" })).toMatchObject({ kind: "sent" });
      expect(await readAll(box)).toEqual([]);
    });

    it("tell ids of different senders apart", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      await sendText(mailboxes, { id: "a", to: "ann", from: lead });
      await sendText(mailboxes, { id: "b", to: "ann", from: bob });
      expect((await readAll(box)).map(({ sequence }) => sequence)).toEqual([1, 1]);
    });

    it("deliver to all teammates but the sender, each once, and to nobody of another team", async () => {
      const mailboxes = await make();
      const boxes = await Promise.all([lead, ann, bob, stranger].map((one) => openBox(mailboxes, one)));
      const outcome = await sendText(mailboxes, { id: "1", to: "*" });
      expect(outcome).toEqual({ kind: "sent", delivered: [ann, bob] });
      await sendText(mailboxes, { id: "1", to: "*" });
      const unread = await Promise.all(boxes.map(readAll));
      expect(unread.map(({ length }) => length)).toEqual([0, 1, 1, 0]);
      expect(unread[1]?.[0]).toMatchObject({ audience: "all", to: ann });
    });

    it("reach a session by its id, and its own agents by their names", async () => {
      const mailboxes = await make();
      const session = sessionAddress("s-1");
      const box = await openBox(mailboxes, session);
      const own = await openBox(mailboxes, teammateAddress("explore", "s-1"));
      expect(await sendText(mailboxes, { id: "1", to: "bridge:s-1", from: ann })).toMatchObject({ kind: "sent" });
      expect(await sendText(mailboxes, { id: "2", to: "explore", from: session })).toMatchObject({ kind: "sent" });
      expect([(await readAll(box)).map(textOf), (await readAll(own)).map(textOf)]).toEqual([["1"], ["2"]]);
    });

    it("refuse a receiver that they don't know, with the nearest name", async () => {
      const mailboxes = await make();
      await openBox(mailboxes, ann);
      const message = async (to: string, from = lead) => {
        const outcome = await sendText(mailboxes, { id: "1", to, from });
        expect(outcome.kind).toBe("unknown-receiver");
        return outcome.kind === "unknown-receiver" ? outcome.message : "";
      };
      expect(await message("anna")).toContain("Did you mean ann?");
      expect(await message("zebediah")).toContain("It has ann.");
      expect(await message("bridge:s-9")).toContain("s-9");
      expect(await message("../ann")).toContain("is no address");
      expect(await message("*", stranger)).toContain("no teammates");
      expect(await message("ann", sessionAddress("s-2"))).toContain("no agents");
      expect(await message("uds:/nowhere/at-all.sock", sessionAddress("s-2"))).toContain("uds:/nowhere");
    });

    it("refuse a message over a million characters, and take one of a million", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      const text = "\u0001".repeat(1_000_000);
      expect(await sendText(mailboxes, { id: "1", to: "ann", text: `${text}.` })).toEqual({
        kind: "too-large",
        message: expect.stringContaining("1,000,001") as unknown,
      });
      expect(await sendText(mailboxes, { id: "2", to: "ann", text })).toMatchObject({ kind: "sent" });
      expect((await readAll(box)).map(textOf)).toEqual([text]);
    });

    it("refuse the fifty-first unread message of a sender, and only of that one, until some are read", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      for (let n = 0; n < 50; n += 1) await sendText(mailboxes, { id: `m${n}`, to: "ann" });
      expect(await sendText(mailboxes, { id: "over", to: "ann" })).toEqual({
        kind: "full",
        receivers: [ann],
        delivered: [],
        message: expect.stringContaining("50 messages wait") as unknown,
      });
      expect(await sendText(mailboxes, { id: "m3", to: "ann" })).toMatchObject({ kind: "sent" });
      expect(await sendText(mailboxes, { id: "b1", to: "ann", from: bob })).toMatchObject({ kind: "sent" });
      await box.markRead([envelopeId("m0")]);
      expect(await sendText(mailboxes, { id: "over", to: "ann" })).toMatchObject({ kind: "sent" });
      expect((await readAll(box)).map(textOf)).toEqual([
        ...Array.from({ length: 49 }, (_, n) => `m${n + 1}`),
        "b1",
        "over",
      ]);
    });

    it("name the teammates that got a message if another one's mailbox is full", async () => {
      const mailboxes = await make();
      const boxes = await Promise.all([ann, bob].map((one) => openBox(mailboxes, one)));
      for (let n = 0; n < 50; n += 1) await sendText(mailboxes, { id: `m${n}`, to: "ann" });
      const outcome = await sendText(mailboxes, { id: "all", to: "*" });
      expect(outcome).toMatchObject({ kind: "full", receivers: [ann], delivered: [bob] });
      await boxes[0]?.markRead([envelopeId("m0")]);
      expect(await sendText(mailboxes, { id: "all", to: "*" })).toEqual({ kind: "sent", delivered: [ann, bob] });
      expect((await Promise.all(boxes.map(readAll))).map((all) => all.filter(({ id }) => id === "all").length)).toEqual(
        [1, 1],
      );
    });

    it("keep the order of a sender over hundreds of messages that are read on the way", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      const seen: string[] = [];
      for (let n = 0; n < 400; n += 1) {
        await sendText(mailboxes, { id: `m${n}`, to: "ann" });
        if (n % 40 !== 39) continue;
        const envelopes = await readAll(box);
        seen.push(...envelopes.map(({ id, sequence }) => `${id} ${sequence}`));
        await box.markRead(envelopes.map(({ id }) => id));
      }
      expect(seen).toEqual(Array.from({ length: 400 }, (_, n) => `m${n} ${n + 1}`));
      expect(await sendText(mailboxes, { id: "m399", to: "ann" })).toMatchObject({ kind: "sent" });
      expect(await readAll(box)).toEqual([]);
    });

    it("list who can be sent to, all or of one team", async () => {
      const mailboxes = await make();
      for (const address of [bob, ann, stranger, sessionAddress("s-1")]) await openBox(mailboxes, address);
      expect(await mailboxes.list()).toEqual([ann, stranger, bob, sessionAddress("s-1")].toSorted());
      expect(await mailboxes.list("docs")).toEqual([ann, bob]);
      expect(await mailboxes.list("nobody")).toEqual([]);
      expect(await mailboxes.list("../docs")).toEqual([]);
    });

    it("give back what was never read when a mailbox is removed", async () => {
      const mailboxes = await make();
      await openBox(mailboxes, ann);
      await sendText(mailboxes, { id: "1", to: "ann" });
      expect(await mailboxes.remove(ann)).toMatchObject({ kind: "removed", unread: [{ id: "1" }] });
      expect(await mailboxes.remove(ann)).toEqual({ kind: "missing" });
      expect(await sendText(mailboxes, { id: "2", to: "ann" })).toMatchObject({ kind: "unknown-receiver" });
      expect(await readAll(await openBox(mailboxes, ann))).toEqual([]);
    });

    it("wake a receiver that waits: at once if there is something new, when it arrives, or when it is told to stop", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      const never = new AbortController().signal;
      const early = box.waitForNews(never);
      await sendText(mailboxes, { id: "1", to: "ann" });
      expect(await early).toBe("news");
      expect(await box.waitForNews(never)).toBe("news");
      await readAll(box);
      // Seen, and not marked yet: that is no news.
      const stop = new AbortController();
      const late = box.waitForNews(stop.signal);
      stop.abort();
      expect(await late).toBe("aborted");
      expect(await box.waitForNews(AbortSignal.abort())).toBe("aborted");
      const next = box.waitForNews(never);
      await sendText(mailboxes, { id: "2", to: "ann" });
      expect(await next).toBe("news");
    });

    it("take many messages at once, none lost and in order per sender", async () => {
      const mailboxes = await make();
      const box = await openBox(mailboxes, ann);
      const senders = Array.from({ length: 8 }, (_, n) => teammateAddress(`s${n}`, "docs"));
      await Promise.all(
        senders.flatMap((from) =>
          Array.from({ length: 10 }, (_, n) => sendText(mailboxes, { id: `${from}#${n}`, to: "ann", from })),
        ),
      );
      const seen = await readAll(box);
      for (const from of senders)
        expect(seen.filter((one) => one.from === from).map(({ id, sequence }) => `${id} ${sequence}`)).toEqual(
          Array.from({ length: 10 }, (_, n) => `${from}#${n} ${n + 1}`),
        );
    });

    it("refuse a mailbox at an address that can have none", async () => {
      const mailboxes = await make();
      for (const address of ["uds:/x", "ann", "../x@docs"])
        expect(await mailboxes.open(address as MailboxAddress)).toMatchObject({ kind: "failed" });
    });
  });
}

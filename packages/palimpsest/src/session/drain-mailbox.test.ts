import { describe, expect, it } from "vitest";
import type { Envelope, Mailbox } from "../ports/mailbox.ts";
import { teammateAddress } from "../schema/agent-address.ts";
import { type EnvelopeId, envelopeId, millis } from "../schema/brand.ts";
import { memoryMailboxes } from "../store/memory/memory-mailboxes.ts";
import { drainMailbox } from "./drain-mailbox.ts";

const [ann, lead] = [teammateAddress("ann", "t"), teammateAddress("lead", "t")];

async function makeBox(count: number): Promise<Mailbox> {
  const mailboxes = memoryMailboxes();
  const opened = await mailboxes.open(ann);
  if (opened.kind !== "open") throw new Error(opened.message);
  for (let n = 0; n < count; n += 1)
    await mailboxes.send({
      id: envelopeId(`m${n}`),
      from: lead,
      to: "ann",
      at: millis(n),
      body: { type: "text", text: `${n}` },
    });
  return opened.mailbox;
}

/** A receiver whose records survive a kill, as a transcript does; what it does is done with the record, in one write. */
class Receiver {
  readonly records: EnvelopeId[] = [];
  readonly isHandled = async (id: EnvelopeId): Promise<boolean> => this.records.includes(id);
  readonly handle = async ({ id }: Envelope): Promise<"handled"> => {
    this.records.push(id);
    return "handled";
  };
}

class Killed extends Error {}

/** The mailbox and the receiver, of which the process dies at one of their steps: before it, or when it is done. */
function dying(box: Mailbox, receiver: Receiver, at: number) {
  let step = 0;
  let isDead = false;
  const guard =
    <Args extends readonly unknown[], Value>(act: (...args: Args) => Promise<Value>) =>
    async (...args: Args): Promise<Value> => {
      if (isDead || step++ === at) {
        isDead = true;
        throw new Killed();
      }
      const value = await act(...args);
      if (step++ === at) {
        isDead = true;
        throw new Killed();
      }
      return value;
    };
  const mailbox = {
    unread: guard(() => box.unread()),
    markRead: guard((ids: readonly EnvelopeId[]) => box.markRead(ids)),
  };
  const handler = { isHandled: guard(receiver.isHandled), handle: guard(receiver.handle) };
  return { mailbox, handler, steps: () => step };
}

describe("draining a mailbox", () => {
  it("handles what is unread, in order, and marks it", async () => {
    const box = await makeBox(3);
    const receiver = new Receiver();
    const outcome = await drainMailbox(box, receiver);
    expect(outcome).toMatchObject({ kind: "drained", handled: [{ id: "m0" }, { id: "m1" }, { id: "m2" }] });
    expect(receiver.records).toEqual(["m0", "m1", "m2"]);
    expect(await drainMailbox(box, receiver)).toMatchObject({ kind: "drained", handled: [] });
  });

  it("handles each message exactly once and in order, killed before or after any step, once or twice", async () => {
    const count = 4;
    const whole = dying(await makeBox(count), new Receiver(), Infinity);
    await drainMailbox(whole.mailbox, whole.handler);
    const steps = whole.steps();
    expect(steps).toBe(2 * (2 + 2 * count));
    for (let first = 0; first < steps; first += 1)
      for (let second = 0; second <= steps; second += 1) {
        const [box, receiver] = [await makeBox(count), new Receiver()];
        for (const at of [first, second]) {
          const { mailbox, handler } = dying(box, receiver, at);
          await drainMailbox(mailbox, handler).catch((error: unknown) => {
            if (!(error instanceof Killed)) throw error;
          });
        }
        await drainMailbox(box, receiver);
        expect({ first, second, records: receiver.records }).toEqual({
          first,
          second,
          records: ["m0", "m1", "m2", "m3"],
        });
        expect(await box.unread()).toMatchObject({ envelopes: [] });
      }
  });

  it("leaves a message that is put off, and all behind it, for later", async () => {
    const box = await makeBox(3);
    const receiver = new Receiver();
    const handle = async (envelope: Envelope) => (envelope.id === "m1" ? "later" : receiver.handle(envelope));
    expect(await drainMailbox(box, { isHandled: receiver.isHandled, handle })).toMatchObject({
      kind: "left",
      handled: [{ id: "m0" }],
    });
    await drainMailbox(box, receiver);
    expect(receiver.records).toEqual(["m0", "m1", "m2"]);
  });

  it("marks what was handled if a later message fails, and goes on after it next time", async () => {
    const box = await makeBox(3);
    const receiver = new Receiver();
    const handle = async (envelope: Envelope) => {
      if (envelope.id === "m1") throw new Error("a bug");
      return receiver.handle(envelope);
    };
    await expect(drainMailbox(box, { isHandled: receiver.isHandled, handle })).rejects.toThrow("a bug");
    expect(await box.unread()).toMatchObject({ envelopes: [{ id: "m1" }, { id: "m2" }] });
  });

  it("reports a mailbox that can't be read", async () => {
    const box = { ...(await makeBox(0)), unread: async () => ({ kind: "failed", message: "no" }) as const };
    expect(await drainMailbox(box, new Receiver())).toEqual({ kind: "failed", message: "no", handled: [] });
  });
});

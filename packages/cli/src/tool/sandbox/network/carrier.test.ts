import { type Duplex, PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setImmediate as settled } from "node:timers/promises";
import { expect, test } from "vitest";
import { Carrier, carriedFrameBytesMax, carriedWindowBytes } from "./carrier.ts";

interface Pair {
  readonly bridge: Carrier;
  readonly proxy: Carrier;
  readonly accepted: Duplex[];
  /** Where the bridge writes: for what only a hostile one would. */
  readonly toProxy: PassThrough;
  readonly toBridge: PassThrough;
}

function pair(connectionsMax = 10): Pair {
  const [toProxy, toBridge] = [new PassThrough(), new PassThrough()];
  const accepted: Duplex[] = [];
  const bridge = new Carrier({ read: toBridge, write: toProxy }, { connectionsMax, whenUnread: "go-on" });
  const proxy = new Carrier(
    { read: toProxy, write: toBridge },
    { connectionsMax, whenUnread: "pause", onConnection: (connection) => void accepted.push(connection) },
  );
  return { bridge, proxy, accepted, toProxy, toBridge };
}

async function opened(carriers: Pair): Promise<readonly [Duplex, Duplex]> {
  const inside = carriers.bridge.open();
  await settled();
  const outside = carriers.accepted.at(-1);
  if (inside === undefined || outside === undefined) throw new Error("not opened");
  return [inside, outside];
}

const passed = async (times = 20): Promise<void> => {
  for (let at = 0; at < times; at += 1) await settled();
};

const frame = (kind: number, id: number, bytes: Buffer = Buffer.alloc(0), length = bytes.length): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(id, 1);
  head.writeUInt32BE(length, 5);
  return Buffer.concat([head, bytes]);
};

test("bytes come in order and whole in both directions, and an end in one leaves the other open", async () => {
  const [inside, outside] = await opened(pair());
  const sent = Buffer.from(Array.from({ length: 3 * carriedWindowBytes }, (_, at) => (at * 7) % 251));
  inside.end(sent);
  expect((await buffer(outside)).equals(sent)).toBe(true);
  outside.write("still");
  outside.end(" here");
  expect((await buffer(inside)).toString()).toBe("still here");
});

test("a connection that nobody reads takes no more than its window, and stops no other", async () => {
  const carriers = pair();
  const [stuck, unread] = await opened(carriers);
  const [inside, outside] = await opened(carriers);
  stuck.write(Buffer.alloc(4 * carriedWindowBytes));
  await passed();
  expect(unread.readableLength).toBeLessThanOrEqual(carriedWindowBytes);
  expect(carriers.toProxy.writableLength + carriers.toProxy.readableLength).toBeLessThan(carriedWindowBytes);
  inside.end("past it");
  expect((await buffer(outside)).toString()).toBe("past it");
  stuck.end();
  expect((await buffer(unread)).length).toBe(4 * carriedWindowBytes);
});

test("what is broken off on one side is broken off on the other, and frees its place", async () => {
  const carriers = pair(1);
  const [inside, outside] = await opened(carriers);
  expect(carriers.bridge.open()).toBeUndefined();
  outside.destroy();
  await passed();
  expect(inside.destroyed).toBe(true);
  const [next, other] = await opened(carriers);
  next.destroy();
  await passed();
  expect(other.destroyed).toBe(true);
});

test("its end is the end of every connection", async () => {
  const carriers = pair();
  const [inside, outside] = await opened(carriers);
  carriers.proxy.close();
  await passed();
  expect([inside.destroyed, outside.destroyed, carriers.bridge.open()]).toEqual([true, true, undefined]);
});

test("a frame that comes in pieces is one frame", async () => {
  const carriers = pair();
  for (const byte of Buffer.concat([frame(0, 1), frame(1, 1, Buffer.from("ab")), frame(2, 1)]))
    carriers.toProxy.write(Buffer.from([byte]));
  await passed();
  const [connection] = carriers.accepted;
  expect(connection && (await buffer(connection)).toString()).toBe("ab");
});

test("too many connections of a bridge are broken off one by one", async () => {
  const carriers = pair(2);
  carriers.toProxy.write(Buffer.concat([1, 2, 3, 4].map((id) => frame(0, id))));
  await passed();
  expect(carriers.accepted).toHaveLength(2);
  expect(carriers.accepted.map(({ destroyed }) => destroyed)).toEqual([false, false]);
});

test("a bridge that reads no answer gets no more, and fills no memory", async () => {
  const [toProxy, toBridge] = [new PassThrough(), new PassThrough()];
  const connection = (): void => undefined;
  const proxy = new Carrier(
    { read: toProxy, write: toBridge },
    { connectionsMax: 0, whenUnread: "pause", onConnection: connection },
  );
  for (let id = 1; id <= 50_000; id += 1) toProxy.write(frame(0, id));
  await passed();
  expect(toBridge.writableLength + toBridge.readableLength).toBeLessThan(2 * 2 ** 17);
  expect(toProxy.isPaused()).toBe(true);
  toBridge.resume();
  await passed(2_000);
  expect(toProxy.readableLength + toProxy.writableLength).toBe(0);
  proxy.close();
});

const credit = (count: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(count);
  return bytes;
};

test.each<[string, readonly Buffer[]]>([
  ["a kind that is none", [frame(9, 1)]],
  ["a length beyond the limit", [frame(1, 1, Buffer.alloc(0), carriedFrameBytesMax + 1)]],
  ["the same connection again", [frame(0, 1), frame(0, 1)]],
  ["an older connection", [frame(0, 5), frame(0, 3)]],
  ["credit that is no number", [frame(0, 1), frame(4, 1, Buffer.alloc(3))]],
  ["credit beyond the window", [frame(0, 1), frame(4, 1, credit(1))]],
  ["bytes behind the end", [frame(0, 1), frame(2, 1), frame(1, 1, Buffer.from("x"))]],
  [
    "more bytes than there is credit",
    [
      frame(0, 1),
      ...Array.from({ length: carriedWindowBytes / carriedFrameBytesMax + 1 }, () =>
        frame(1, 1, Buffer.alloc(carriedFrameBytesMax)),
      ),
    ],
  ],
])("%s ends the carrier", async (_name, frames) => {
  const carriers = pair();
  // Nobody reads what comes, so no credit is given back.
  for (const one of frames) carriers.toProxy.write(one);
  await passed();
  expect(carriers.toProxy.destroyed).toBe(true);
  expect(carriers.accepted.every(({ destroyed }) => destroyed)).toBe(true);
});

test("frames of a connection that is gone are late, not wrong", async () => {
  const carriers = pair();
  const [inside, outside] = await opened(carriers);
  outside.destroy();
  inside.write("too late");
  await passed();
  expect(carriers.toProxy.destroyed).toBe(false);
  await opened(carriers);
});

test("the side that opens none takes none", async () => {
  const carriers = pair();
  carriers.toBridge.write(frame(0, 1));
  await passed();
  expect(carriers.toBridge.destroyed).toBe(true);
});

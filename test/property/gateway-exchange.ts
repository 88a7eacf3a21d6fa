import * as fc from "fast-check";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { StreamRelay } from "@palimpsest/gateway/internal/reply/stream-relay";
import type { RelayOptions, ReplyEnd } from "@palimpsest/gateway/internal/reply/relay";
import { callPart, type SamplePart, type SampleReply, textPart, thinkingPart } from "../fixture/gateway-replies.ts";

export const gatewayTools: ReadonlySet<string> = new Set(["palimpsest_recall", "palimpsest_memory"]);

/** Replies of upstream that the client gets as one: all but the last call tools of ours alone. */
export const exchanges: fc.Arbitrary<readonly SampleReply[]> = fc
  .tuple(
    fc.array(fc.array(fc.constantFrom("text", "thinking", "own" as const), { maxLength: 4 }), { maxLength: 3 }),
    fc.array(fc.constantFrom("text", "thinking", "own", "client" as const), { maxLength: 5 }),
    fc.boolean(),
    fc.infiniteStream(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })),
    fc.infiniteStream(fc.nat(100_000)),
  )
  .map(([earlier, last, isCut, texts, numbers]) => {
    const text = (): string => next(texts);
    const number = (): number => next(numbers);
    const usage = () => ({ input: number(), cached: number(), output: number() });
    let made = 0;
    const part = (kind: "text" | "thinking" | "own" | "client"): SamplePart => {
      made += 1;
      if (kind === "text") return { ...textPart(text(), text()), id: `${made}` };
      if (kind === "thinking") return { ...thinkingPart(text(), text()), id: `${made}` };
      const name = kind === "own" ? (made % 2 === 0 ? "palimpsest_recall" : "palimpsest_memory") : `tool_${made}`;
      return callPart(`call_${made}`, name, { query: text() });
    };
    const tools = [...gatewayTools, "tool_1"];
    const replies = earlier.map((kinds, at): SampleReply => ({
      id: `reply_${at}`,
      parts: [...kinds, "own" as const].map(part),
      stop: "calls",
      usage: usage(),
      tools,
    }));
    const isAnswered = !isCut && !last.includes("client");
    const parts = (isAnswered ? last.filter((kind) => kind !== "own") : last).map(part);
    const stop = isCut ? "cut" : last.includes("client") ? "calls" : "end";
    return [...replies, { id: `reply_${earlier.length}`, parts, stop, usage: usage(), tools }];
  });

function next<Value>(endless: fc.Stream<Value>): Value {
  const { done, value } = endless.next() as IteratorResult<Value, undefined>;
  if (done === true) throw new Error("an endless stream ended");
  return value;
}

export const isOwnPart = (part: SamplePart): boolean => part.kind === "call" && gatewayTools.has(part.name);

/** What the client should see. */
export function joinSamples(replies: readonly SampleReply[]): SampleReply {
  const [first, last] = [replies[0], replies.at(-1)];
  if (first === undefined || last === undefined) throw new Error("there is no reply");
  return {
    ...last,
    id: first.id,
    parts: replies.flatMap(({ parts }) => parts).filter((part) => !isOwnPart(part)),
    usage: { ...last.usage, output: replies.reduce((sum, { usage }) => sum + usage.output, 0) },
    tools: (last.tools ?? []).filter((name) => !gatewayTools.has(name)),
  };
}

/** Where a stream is cut into chunks, as parts of its length. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
  maxLength: 30,
});

export function cutBytes(bytes: Uint8Array, at: readonly number[]): readonly Uint8Array[] {
  const places = [0, ...at.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

interface RelayedExchange {
  readonly bytes: Buffer;
  readonly ends: readonly ReplyEnd[];
}

/** The bytes that the client gets for the streams of upstream. */
export function relayStreams(
  provider: Provider,
  streams: readonly (readonly Uint8Array[])[],
  options: Partial<RelayOptions> = {},
): RelayedExchange {
  const relay = new StreamRelay({ provider, gatewayTools, onEvent: () => undefined, ...options });
  const out: Uint8Array[] = [];
  const ends: ReplyEnd[] = [];
  for (const [at, chunks] of streams.entries()) {
    if (at > 0) relay.continue();
    for (const chunk of chunks) out.push(...relay.take(chunk));
    const ended = relay.end();
    out.push(...ended.out);
    ends.push(ended.end);
    relay.observe();
  }
  return { bytes: Buffer.concat(out), ends };
}

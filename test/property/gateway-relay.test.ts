import Anthropic from "@anthropic-ai/sdk";
import * as fc from "fast-check";
import OpenAI from "openai";
import { LengthFinishReasonError } from "openai/core/error";
import { type Provider, providers } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { WholeRelay } from "@palimpsest/gateway/internal/reply/whole-relay";
import { describe, expect, it } from "vitest";
import {
  decodeEvents,
  encodeEvents,
  sampleEvents,
  type SampleReply,
  sampleStream,
  sampleWhole,
} from "../fixture/gateway-replies.ts";
import { cutBytes, cuts, exchanges, isOwnPart, joinSamples, gatewayTools, relayStreams } from "./gateway-exchange.ts";
import { parametersFor } from "./runs.ts";

const lineEnds = fc.constantFrom("\n", "\r\n", "\r");
const usual = parametersFor({ quick: 60, long: 10_000 });

describe.each(providers)("a relay of %s", (provider) => {
  it("passes a reply without own calls byte for byte, however it is cut", () => {
    fc.assert(
      fc.property(exchanges, cuts, lineEnds, fc.boolean(), (replies, places, lineEnd, hasTools) => {
        const reply = joinSamples(replies);
        const stream = sampleStream(provider, reply, lineEnd);
        const options = { gatewayTools: hasTools ? gatewayTools : new Set<string>() };
        const { bytes, ends } = relayStreams(provider, [cutBytes(stream, places)], options);
        expect(bytes.equals(stream)).toBe(true);
        expect(ends).toEqual([{ kind: "done" }]);
      }),
      usual,
    );
  });

  it("passes bytes that are no events", () => {
    const noise = fc.array(fc.constantFrom("\r", "\n", "data:", "d", " ", "{", "}", "[DONE]", ":", "é", "\uFEFF"), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(noise, cuts, (texts, places) => {
        const stream = Buffer.from(`${texts.join("")}\n\n`);
        expect(relayStreams(provider, [cutBytes(stream, places)]).bytes.toString()).toBe(stream.toString());
      }),
      usual,
    );
  });

  it("shows the client one reply without own calls, however the replies are cut", () => {
    fc.assert(
      fc.property(exchanges, cuts, lineEnds, (replies, places, lineEnd) => {
        const streams = replies.map((reply) => cutBytes(sampleStream(provider, reply, lineEnd), places));
        const { bytes, ends } = relayStreams(provider, streams);
        const expected = expectedEvents(provider, replies);
        expect(decodeEvents(bytes)).toEqual(expected);
        expect(bytes.toString()).toBe(encodeEvents(provider, expected, lineEnd).toString());
        expect(ends.slice(0, -1).every((end) => end.kind === "gateway-calls" && end.client === "waits")).toBe(true);
        const calls = ends.flatMap((end) => (end.kind === "gateway-calls" ? end.calls : []));
        expect(calls.map(({ id }) => id)).toEqual(
          replies.flatMap(({ parts }) => parts.filter(isOwnPart).map(({ id }) => id)),
        );
      }),
      usual,
    );
  });

  it("tells the recorder every event of upstream, as it came", () => {
    fc.assert(
      fc.property(exchanges, cuts, (replies, places) => {
        const events: JsonObject[] = [];
        const streams = replies.map((reply) => cutBytes(sampleStream(provider, reply), places));
        relayStreams(provider, streams, { onEvent: (event) => events.push(event) });
        expect(events).toEqual(replies.flatMap((reply) => sampleEvents(provider, reply)));
      }),
      usual,
    );
  });

  it("shows the same reply if it is not streamed", () => {
    fc.assert(
      fc.property(exchanges, (replies) => {
        const relay = new WholeRelay({ provider, gatewayTools, onEvent: () => undefined });
        const taken = replies.map((reply) => relay.take(Buffer.from(JSON.stringify(sampleWhole(provider, reply)))));
        expect(taken.slice(0, -1).every(({ out }) => out === undefined)).toBe(true);
        const shown: unknown = JSON.parse(Buffer.from(taken.at(-1)?.out ?? []).toString());
        expect(shown).toEqual(sampleWhole(provider, joinSamples(replies)));
      }),
      usual,
    );
  });

  it("gives the SDK's own stream what the whole reply holds", async () => {
    await fc.assert(
      fc.asyncProperty(exchanges, cuts, async (replies, places) => {
        const streams = replies.map((reply) => cutBytes(sampleStream(provider, reply), places));
        const { bytes } = relayStreams(provider, streams);
        const joined = joinSamples(replies);
        const seen = await readBySdk[provider](bytes);
        expect(seen).toEqual(await readBySdk[provider](encodeEvents(provider, sampleEvents(provider, joined))));
        expect(seen).toMatchObject(comparedFields(provider, joined));
      }),
      parametersFor({ quick: 15, long: 2_000 }),
    );
  });
});

/** The events of the joined reply; only the input side of the beginning is that of the first reply, which the client has seen before there was another. */
function expectedEvents(provider: Provider, replies: readonly SampleReply[]): readonly JsonObject[] {
  const joined = joinSamples(replies);
  const [first = joined] = replies;
  const begin = sampleEvents(provider, { ...joined, usage: first.usage }).slice(0, 1);
  const pings = replies.slice(1).map(() => ({ type: "ping" }));
  const [, ...rest] = sampleEvents(provider, joined);
  const events = [...begin, ...rest];
  if (provider !== "anthropic" || pings.length === 0) return events;
  // Pings of later replies pass too, where they come.
  const ownPings: JsonObject[] = [...begin];
  for (const [at, reply] of replies.entries()) {
    ownPings.push({ type: "ping" });
    const before = replies.slice(0, at).flatMap(({ parts }) => parts.filter((part) => !isOwnPart(part))).length;
    const shown = reply.parts.filter((part) => !isOwnPart(part)).length;
    ownPings.push(
      ...rest.filter(
        (event) => typeof event["index"] === "number" && event["index"] >= before && event["index"] < before + shown,
      ),
    );
  }
  return [...ownPings, ...rest.slice(-2)];
}

const streamOf = (bytes: Buffer): Promise<Response> =>
  Promise.resolve(new Response(bytes, { headers: { "content-type": "text/event-stream" } }));

/** What the official SDKs make of a stream. */
const readBySdk: Readonly<Record<Provider, (bytes: Buffer) => Promise<unknown>>> = {
  anthropic: async (bytes) => {
    const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: () => streamOf(bytes) });
    const messages = [{ role: "user" as const, content: "Hello" }];
    return client.messages.stream({ model: "claude-sonnet-5", max_tokens: 100, messages }).finalMessage();
  },
  "openai-chat": async (bytes) => {
    const client = new OpenAI({ apiKey: "none", maxRetries: 0, fetch: () => streamOf(bytes) });
    const stream = client.chat.completions.stream({ model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] });
    const snapshots: unknown[] = [];
    stream.on("chunk", (_, snapshot) => snapshots.splice(0, 1, structuredClone(snapshot)));
    await stream.done().catch((error: unknown) => {
      if (!(error instanceof LengthFinishReasonError)) throw error;
    });
    return snapshots[0];
  },
  "openai-responses": async (bytes) => {
    const client = new OpenAI({ apiKey: "none", maxRetries: 0, fetch: () => streamOf(bytes) });
    return client.responses.stream({ model: "gpt-5.6", input: "Hello" }).finalResponse();
  },
};

function comparedFields(provider: Provider, reply: SampleReply): JsonObject {
  const whole = sampleWhole(provider, reply);
  const { id = "", usage = {}, content, output } = whole;
  if (provider === "anthropic") return { id, usage, content: content ?? [] };
  return provider === "openai-chat" ? { id, usage } : { id, usage, output: output ?? [] };
}

import { providers } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { describe, expect, it } from "vitest";
import { callPart, type SampleReply, sampleWhole, textPart } from "../../../../test/fixture/gateway-replies.ts";
import { addInputTokens } from "./usage.ts";
import { WholeRelay } from "./whole-relay.ts";

const recall = callPart("call_1", "palimpsest_recall", { query: "port" });
const read = callPart("call_2", "read_file", { path: "a.ts" });
const reply: SampleReply = {
  id: "reply_1",
  parts: [textPart("So.")],
  stop: "end",
  usage: { input: 10, cached: 100, output: 5 },
};
const gatewayTools = new Set(["palimpsest_recall"]);
const encode = (value: JsonObject): Buffer => Buffer.from(JSON.stringify(value, null, 1));
const decode = (bytes: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? []).toString());

describe.each(providers)("a whole reply of %s", (provider) => {
  it("leaves as the same bytes if it needs no change, and the recorder gets it", () => {
    const seen: JsonObject[] = [];
    const bytes = encode(sampleWhole(provider, reply));
    const { out, end } = new WholeRelay({ provider, gatewayTools, onEvent: (event) => seen.push(event) }).take(bytes);
    expect(out).toBe(bytes);
    expect(end).toEqual({ kind: "done" });
    expect(seen).toEqual([sampleWhole(provider, reply)]);
  });

  it("keeps the client waiting if it only calls tools of ours", () => {
    const relay = new WholeRelay({ provider, gatewayTools, onEvent: () => undefined });
    const first = relay.take(
      encode(sampleWhole(provider, { ...reply, parts: [textPart("Let me see."), recall], stop: "calls" })),
    );
    expect(first.out).toBeUndefined();
    expect(first.end).toMatchObject({
      kind: "gateway-calls",
      client: "waits",
      calls: [{ id: "call_1", input: { query: "port" }, after: provider === "openai-chat" ? 11 : 1 }],
    });
    const { out, end } = relay.take(encode(sampleWhole(provider, { ...reply, id: "reply_2" })));
    expect(end).toEqual({ kind: "done" });
    const parts = [textPart("Let me see."), textPart("So.")];
    expect(decode(out)).toEqual(sampleWhole(provider, { ...reply, parts, usage: { ...reply.usage, output: 10 } }));
  });

  it("ends with the client's calls if ours stand beside them, and if it was cut", () => {
    for (const stop of ["calls", "cut"] as const) {
      const relay = new WholeRelay({ provider, gatewayTools, onEvent: () => undefined });
      const parts = stop === "calls" ? [recall, read] : [recall];
      const { out, end } = relay.take(encode(sampleWhole(provider, { ...reply, parts, stop })));
      expect(end).toMatchObject({ kind: "gateway-calls", client: "complete", calls: [{ id: "call_1" }] });
      expect(decode(out)).toEqual(sampleWhole(provider, { ...reply, parts: parts.slice(1), stop }));
    }
  });

  it("tells the usage of what the client sent", () => {
    const usage = (used: JsonObject): JsonObject => addInputTokens(provider, used, 1_000);
    const { out } = new WholeRelay({ provider, gatewayTools, usage, onEvent: () => undefined }).take(
      encode(sampleWhole(provider, reply)),
    );
    expect(decode(out)).toEqual(sampleWhole(provider, { ...reply, usage: { input: 10, cached: 1_100, output: 5 } }));
  });

  it("passes what is no reply", () => {
    for (const text of ["", "<html>", "[1]", '{"error":{"message":"no"}}']) {
      const bytes = Buffer.from(text);
      const taken = new WholeRelay({ provider, gatewayTools, onEvent: () => expect.unreachable() }).take(bytes);
      expect(taken).toEqual({ out: bytes, end: { kind: "broken" } });
    }
  });
});

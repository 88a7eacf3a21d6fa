import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { cacheEditsBeta } from "../../packages/palimpsest/src/schema/wire/extension.ts";
import type { WireUsage } from "../../packages/palimpsest/src/schema/wire/reply-message.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { traceDiff } from "../../packages/simulator/src/trace/trace-diff.ts";
import { readTrace } from "../../packages/simulator/src/trace/read-trace.ts";
import { TraceWriter } from "../../packages/simulator/src/trace/trace-writer.ts";
import { Asking } from "../fixture/asking.ts";
import { asyncLines } from "../fixture/trace.ts";
import { Deleting, deletingHeaders, deletingRequest, idsOf } from "../fixture/deleting.ts";

const total = (usage: WireUsage): number =>
  usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;

/** All but the newest five of fifteen. */
const old = idsOf(10);

/** Fifteen rounds are cached, then ten results of them deleted. */
async function deleted(): Promise<Deleting & { readonly beforeTokens: number; readonly deletedTokens: number }> {
  const deleting = new Deleting();
  const before = await deleting.message(15);
  const { cache_edits: report } = await deleting.message(15, old);
  return Object.assign(deleting, {
    beforeTokens: total(before.usage),
    deletedTokens: report?.deleted_input_tokens ?? 0,
  });
}

describe("results that are deleted in a warm cache", () => {
  it("keep the hit: what is read is what was cached, less what is deleted", async () => {
    const deleting = new Deleting();
    const before = await deleting.message(15);
    expect(before.cache_edits).toBeUndefined();
    const { usage, cache_edits: report } = await deleting.message(15, old);
    expect(report).toMatchObject({ applied: old, ignored: [] });
    expect(report?.deleted_input_tokens).toBeGreaterThan(10_000);
    expect(usage.cache_read_input_tokens).toBe(total(before.usage) - (report?.deleted_input_tokens ?? 0));
    expect([usage.cache_creation_input_tokens, usage.input_tokens]).toEqual([0, 0]);
    expect(deleting.shownIds).toEqual(idsOf(15).slice(10));
  });

  it("stay deleted for who names them again, also in what is written behind them", async () => {
    const deleting = await deleted();
    const next = await deleting.message(16, old);
    expect(next.usage.cache_read_input_tokens).toBe(deleting.beforeTokens - deleting.deletedTokens);
    const after = await deleting.message(17, old);
    expect(after.usage.cache_read_input_tokens).toBe(total(next.usage));
    expect(after.cache_edits?.applied).toEqual(old);
  });

  it("can become more without a break", async () => {
    const deleting = await deleted();
    const next = await deleting.message(16, old);
    const more = await deleting.message(16, idsOf(11));
    expect(more.cache_edits?.applied).toEqual(idsOf(11));
    const grown = (more.cache_edits?.deleted_input_tokens ?? 0) - deleting.deletedTokens;
    expect(grown).toBeGreaterThan(0);
    expect(more.usage.cache_read_input_tokens).toBe(total(next.usage) - grown);
  });

  it("who forgets one falls back to what was written before it, and shows it again", async () => {
    const deleting = await deleted();
    await deleting.message(16, old);
    const forgetting = await deleting.message(16, old.slice(1));
    // The entry of round 15, from before anything was deleted.
    expect(forgetting.cache_edits?.applied).toEqual(old.slice(1));
    expect(forgetting.usage.cache_creation_input_tokens).toBeGreaterThan(0);
    expect(deleting.shownIds).toContain("toolu_1");
    expect(total(forgetting.usage)).toBe(
      Number(deleting.asking.count(deletingRequest(16))) - (forgetting.cache_edits?.deleted_input_tokens ?? 0),
    );
  });

  it("who forgets one where nothing older is left reads nothing, and everything is whole", async () => {
    const deleting = await deleted();
    deleting.simulator.clock.advance(millis(200_000));
    await deleting.message(16, old);
    deleting.simulator.clock.advance(millis(200_000));
    await deleting.message(17, old);
    deleting.simulator.clock.advance(millis(200_000));
    // Five minutes after its last reading the entry of round 15 is gone; those behind it were written without ten.
    const { usage, cache_edits: report } = await deleting.message(17, old.slice(1));
    expect(report).toEqual({ applied: [], ignored: old.slice(1), deleted_input_tokens: 0 });
    expect(usage.cache_read_input_tokens).toBe(0);
    const kept = await deleting.message(17, old);
    expect(kept.usage.cache_read_input_tokens).toBeGreaterThan(0);
  });

  it("a request that deletes nothing reads only what was written whole", async () => {
    const deleting = await deleted();
    const next = await deleting.message(16, old);
    const fork = await deleting.message(16);
    expect(fork.usage.cache_read_input_tokens).toBe(deleting.beforeTokens);
    expect(total(fork.usage)).toBe(total(next.usage) + deleting.deletedTokens);
    expect(fork.cache_edits).toBeUndefined();
  });

  it("stand whole again once the cache is lost", async () => {
    const deleting = await deleted();
    deleting.simulator.cache.lose();
    const { usage, cache_edits: report } = await deleting.message(16, old);
    expect(report).toEqual({ applied: [], ignored: old, deleted_input_tokens: 0 });
    expect(total(usage)).toBe(deleting.asking.count(deletingRequest(16)));
    expect(deleting.shownIds).toEqual(idsOf(16));
    // Cached anew as a whole, they can be deleted anew.
    expect((await deleting.message(16, old)).cache_edits?.applied).toEqual(old);
  });

  it("are billed whole where the cache is lost while the responder is at work", async () => {
    const say = { kind: "say", blocks: [{ type: "text", text: "Seen." }] } as const;
    let fault: { readonly kind: "cache-lost" } | undefined;
    const responder: Responder = {
      name: "loser",
      respond: () => ({ move: say, ...(fault === undefined ? {} : { fault }) }),
    };
    const asking = new Asking(new Simulator({ cacheEdits: "offered", responder }));
    const before = await asking.message(deletingRequest(15), deletingHeaders);
    fault = { kind: "cache-lost" };
    const { usage, cache_edits: report } = await asking.message(deletingRequest(15, old), deletingHeaders);
    expect(report).toEqual({ applied: [], ignored: old, deleted_input_tokens: 0 });
    expect(total(usage)).toBe(total(before.usage));
  });

  it("are ignored behind the highest hit, and take effect once they are cached", async () => {
    const deleting = new Deleting();
    await deleting.message(10);
    const first = await deleting.message(15, idsOf(12));
    expect(first.cache_edits).toMatchObject({ applied: idsOf(10), ignored: ["toolu_11", "toolu_12"] });
    expect(deleting.shownIds).toEqual(idsOf(15).slice(10));
    const second = await deleting.message(15, idsOf(12));
    expect(second.cache_edits).toMatchObject({ applied: idsOf(12), ignored: [] });
  });
});

describe("what deleting leaves alone", () => {
  it("a count is of everything", async () => {
    const deleting = await deleted();
    expect(deleting.asking.count(deletingRequest(15, old), deletingHeaders)).toBe(deleting.beforeTokens);
  });

  it("the beta does not decide about the cache", async () => {
    const deleting = new Deleting();
    const { usage } = await deleting.asking.message(deletingRequest(15));
    expect((await deleting.message(15)).usage.cache_read_input_tokens).toBe(total(usage));
  });

  it("thinking behind a deleted result stays valid", async () => {
    const simulator = new Simulator({ cacheEdits: "offered", responder: { name: "thinker", respond: () => thought } });
    const asking = new Asking(simulator, { model: "claude-opus-5-5", thinking: { type: "adaptive" } });
    const { messages } = deletingRequest(15) as { messages: [] };
    const reply = await asking.message({ messages }, deletingHeaders);
    expect(reply.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const next = {
      ...deletingRequest(15, old),
      messages: [
        ...messages,
        { role: "assistant", content: reply.content as never },
        { role: "user", content: "Go on." },
      ],
    };
    const again = await asking.message(next, deletingHeaders);
    expect(again.cache_edits?.applied).toEqual(old);
    // Bound to all that was sent, deleted or not.
    const third = [
      ...next.messages,
      { role: "assistant", content: again.content as never },
      { role: "user", content: "On." },
    ];
    expect((await asking.message({ ...next, messages: third }, deletingHeaders)).type).toBe("message");
  });

  it("a summary on demand is made of what is left, and reads the warm cache", async () => {
    const deleting = new Deleting();
    const headers = { "anthropic-beta": `${cacheEditsBeta},compact-2026-09-04` };
    const before = await deleting.asking.message(deletingRequest(15), headers);
    const compaction = { compaction: { type: "summarize" } };
    const reply = await deleting.asking.message({ ...deletingRequest(15, old), ...compaction }, headers);
    expect(reply.content.map(({ type }) => type)).toEqual(["compaction"]);
    const { applied, deleted_input_tokens: left } = reply.cache_edits ?? { applied: [], deleted_input_tokens: NaN };
    expect(applied).toEqual(old);
    expect(reply.usage.iterations).toMatchObject([
      { type: "compaction", cache_read_input_tokens: total(before.usage) - left },
    ]);
    expect(deleting.shownIds).toEqual(idsOf(15).slice(10));
  });

  it("streams tell it at their start", async () => {
    const deleting = await deleted();
    const [first] = await deleting.asking.stream(deletingRequest(15, old), deletingHeaders);
    expect(first).toMatchObject({
      event: { type: "message_start", message: { cache_edits: { applied: old, ignored: [] } } },
    });
  });
});

describe("who asks why the cache missed", () => {
  it("is told so by the API where a deletion is forgotten", async () => {
    const deleting = await deleted();
    const { id } = await deleting.message(16, old);
    const asked = { diagnostics: { previous_message_id: id } };
    const again = await deleting.asking.message({ ...deletingRequest(16, old), ...asked }, deletingHeaders);
    expect(again.diagnostics).toBeNull();
    const forgetting = await deleting.asking.message(
      { ...deletingRequest(16, old.slice(1)), ...asked },
      deletingHeaders,
    );
    expect(forgetting.diagnostics?.cache_miss_reason?.type).toBe("messages_changed");
  });

  it("is told so by the trace", async () => {
    const lines: string[] = [];
    const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
    const deleting = new Deleting({ trace });
    await trace.begin({ seed: 0, startedAt: deleting.simulator.clock.now() });
    await deleting.message(15);
    await deleting.message(16, old);
    await deleting.message(16, old);
    await deleting.message(16, old.slice(1));
    const reading = await readTrace(asyncLines(lines));
    if (reading.kind !== "trace") throw new Error(reading.message);
    const [, second, third, fourth] = reading.trace.requests;
    if (second === undefined || third === undefined || fourth === undefined) throw new Error("not all are there");
    const { trace: read } = reading;
    const hit = traceDiff({ trace: read, from: second, to: third }).cache;
    expect(hit).toMatchObject({ reasons: ["hit"], againTokens: 0, extraUsd: 0, elsewhereTokens: 0 });
    expect(hit.readTokens).toBe(third.reply?.usage?.cache_read_input_tokens);
    expect(hit.deletedTokens).toBe(third.reply?.cacheEdits?.deleted_input_tokens);
    expect(hit.readTokens + hit.deletedTokens).toBe(hit.offeredTokens);
    const { cache: missed, parameters } = traceDiff({ trace: read, from: second, to: fourth });
    expect(missed.reasons).toEqual(["deletion_missing"]);
    expect(parameters).toMatchObject([{ name: "cache_edits", breaks: "messages" }]);
    // The prompts differ in nothing else: what is paid more is all that a hit had spared.
    expect(missed.extraUsd).toBeCloseTo((fourth.reply?.costUsd ?? 0) - (third.reply?.costUsd ?? 0), 12);
  });
});

describe("what fits the window", () => {
  it("is judged without what is deleted", async () => {
    const models = [{ id: "claude-sonnet-5", windowTokens: 24_000 }];
    const deleting = new Deleting({ models });
    await deleting.message(15);
    const whole = Number(deleting.asking.count(deletingRequest(20)));
    expect(whole).toBeGreaterThan(24_000);
    expect(await deleting.asking.refusal(deletingRequest(20), deletingHeaders)).toContain("prompt is too long");
    const { usage } = await deleting.message(20, old);
    expect(total(usage)).toBeLessThan(24_000);
  });
});

describe("a simulator that does not offer it", () => {
  it("knows neither the beta nor the field", async () => {
    const asking = new Asking(new Simulator());
    expect(await asking.refusal(deletingRequest(3, ["toolu_1"]), deletingHeaders)).toContain("anthropic-beta");
    expect(await asking.refusal(deletingRequest(3, ["toolu_1"]))).toContain(
      "cache_edits: Extra inputs are not permitted",
    );
  });

  it("does not announce it; one that does says so of every model", () => {
    const headers = new Headers({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
    const told = (simulator: Simulator): unknown => simulator.model({ headers }, "claude-sonnet-5");
    expect(JSON.stringify(told(new Simulator()))).not.toContain("cache_edits");
    expect(told(new Simulator({ cacheEdits: "offered" }))).toMatchObject({
      body: { capabilities: { cache_edits: { supported: true } } },
    });
  });
});

const thought = {
  move: {
    kind: "say" as const,
    blocks: [
      { type: "thinking" as const, thinking: "What is left will do." },
      { type: "text" as const, text: "Seen." },
    ],
  },
};

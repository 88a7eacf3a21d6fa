import { describe, expect, it } from "vitest";
import { Asking } from "../../../test/fixture/asking.ts";
import { millis } from "palimpsest/internal/schema/brand";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { parseJson } from "palimpsest/internal/schema/json";
import type { Responder, PlannedReply } from "./responder/responder.ts";
import { realClock } from "./simulator-clock.ts";
import { type Fault, FaultChoice } from "./fault/fault.ts";
import { Simulator } from "./simulator.ts";
import { TraceWriter } from "./trace/trace-writer.ts";

const messages = [{ role: "user", content: "Go on." }];
const cached: JsonObject = {
  messages,
  system: [{ type: "text", text: "A rule. ".repeat(900), cache_control: { type: "ephemeral" } }],
};

/** Says its number; the fault comes with the second reply. */
const faulty = (fault: Fault): Responder => {
  let replies = 0;
  return {
    name: "faulty",
    respond: (): PlannedReply => {
      replies += 1;
      const move = { kind: "say", blocks: [{ type: "text", text: String(replies) }] } as const;
      return replies === 2 ? { move, fault } : { move };
    },
  };
};

describe("a responder's fault strikes before its own reply", () => {
  it("cache-lost: this reply reads nothing, the next one what this one wrote", async () => {
    const asking = new Asking(new Simulator({ responder: faulty({ kind: "cache-lost" }) }));
    const reads: number[] = [];
    for (let at = 0; at < 3; at += 1) reads.push((await asking.message(cached)).usage.cache_read_input_tokens);
    expect(reads.map((read) => read > 0)).toEqual([false, false, true]);
  });

  it("clock-jump: this reply finds the cache expired", async () => {
    const simulator = new Simulator({ responder: faulty({ kind: "clock-jump", byMs: millis(600_000) }) });
    const asking = new Asking(simulator);
    const before = simulator.clock.now();
    const reads: number[] = [];
    for (let at = 0; at < 3; at += 1) reads.push((await asking.message(cached)).usage.cache_read_input_tokens);
    expect(reads.map((read) => read > 0)).toEqual([false, false, true]);
    expect(simulator.clock.now() - before).toBe(600_000);
  });
});

describe("a client that stops reading", () => {
  it.each(["in a pause", "before the first event"])("%s loses the move at once", async (when) => {
    const ends: string[] = [];
    const responder: Responder = {
      name: "slow",
      respond: () => ({
        move: { kind: "say", blocks: [{ type: "text", text: "word ".repeat(50) }], pauseMs: millis(60_000) },
        delivered: () => void ends.push("delivered"),
        lost: () => void ends.push("lost"),
      }),
    };
    const answer = await new Asking(new Simulator({ responder, clock: realClock() })).answer({
      messages,
      stream: true,
    });
    if (answer.kind !== "stream") expect.unreachable();
    const events = answer.events[Symbol.asyncIterator]();
    if (when === "in a pause") {
      await events.next();
      void events.next();
    }
    await events.return?.();
    expect(ends).toEqual(["lost"]);
  });
});

describe("the clock", () => {
  it.each(["1e20", "-1", "1.5", "99999999999999999999", "x"])("refuses to go forward by %s", async (advance) => {
    const asking = new Asking(new Simulator());
    expect(await asking.refusal({ messages }, { "x-simulator-advance-ms": advance })).toMatch(
      /^400 x-simulator-advance-ms/,
    );
    await asking.message({ messages });
  });

  it("stays within the years that can be written, however often it jumps", async () => {
    const asking = new Asking(new Simulator());
    const century = String(100 * 365 * 24 * 3_600_000);
    for (let jump = 0; jump < 90; jump += 1) await asking.message({ messages }, { "x-simulator-advance-ms": century });
    expect(new Date(asking.simulator.clock.now()).getUTCFullYear()).toBe(9999);
  });
});

describe("a client's fault on what is sent as one body", () => {
  it("duplicate is refused: it has no such form", async () => {
    const asking = new Asking(new Simulator());
    expect(await asking.refusal({ messages }, { "x-simulator-fault": "duplicate" })).toMatch(
      /^400 x-simulator-fault: duplicate happens to a stream only/,
    );
    expect(await asking.stream({ messages }, { "x-simulator-fault": "duplicate" })).not.toHaveLength(0);
  });

  it("duplicate by chance leaves it alone, and the trace does not claim it", async () => {
    const { lines, trace } = tracing();
    const faults = new FaultChoice({ seed: 0, faults: [{ fault: { kind: "duplicate" }, probability: 1 }] });
    await new Asking(new Simulator({ faults, trace })).message({ messages });
    expect(lines.find(({ type }) => type === "request")).toMatchObject({ faults: [] });
  });

  it.each(["break", "break-utf8"])("%s cuts it, and the trace says so", async (fault) => {
    const { lines, trace } = tracing();
    const asking = new Asking(new Simulator({ trace }));
    expect((await asking.answer({ messages }, { "x-simulator-fault": fault })).kind).toBe("cut");
    expect(() => asking.count({ messages }, { "x-simulator-fault": fault })).toThrow("got cut");
    expect(lines.filter(({ type }) => type === "reply").map(({ outcome }) => outcome)).toEqual(["broken", "broken"]);
  });
});

function tracing(): { readonly lines: Record<string, unknown>[]; readonly trace: TraceWriter } {
  const lines: Record<string, unknown>[] = [];
  const write = async (line: string): Promise<void> => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { lines, trace: new TraceWriter({ write }) };
}

describe("the trace", () => {
  it("holds what a request was, though a fault met it before anybody looked", async () => {
    const { lines, trace } = tracing();
    const asking = new Asking(new Simulator({ trace }));
    await asking.message({ messages });
    await asking.refusal({ messages }, { "x-simulator-fault": "overloaded" });
    await asking.refusal({ messages: [] }, { "x-simulator-fault": "overloaded" });
    const [whole, met, none] = lines.filter(({ type }) => type === "request");
    const { workspace, salts } = whole ?? {};
    expect(met).toMatchObject({ workspace, salts, blocks: { base: 1, shared: 1 } });
    expect(none).toMatchObject({ workspace, blocks: { shared: 0, added: [] } });
    expect(none).not.toHaveProperty("salts");
  });

  it("holds every request under its own number: refused, dropped, hanging, failing", async () => {
    const lines: Json[] = [];
    const write = (line: string): Promise<void> => {
      lines.push(parseJson(line));
      return Promise.resolve();
    };
    const responder: Responder = { name: "broken", respond: () => Promise.reject(new Error("no such move: txet")) };
    const asking = new Asking(new Simulator({ responder, trace: new TraceWriter({ write }) }));
    for (const fault of ["reset", "hang", "overloaded"])
      await asking.answer({ messages }, { "x-simulator-fault": fault });
    await asking.answer({ messages: [] });
    expect(await asking.refusal({ messages })).toBe("500 The responder failed: Error: no such move: txet");
    const told = lines.map((line) => JSON.parse(JSON.stringify(line)) as Record<string, unknown>);
    expect(
      told
        .filter(({ type }) => type === "request")
        .map(({ n, model, endpoint, faults }) => [n, model, endpoint, faults]),
    ).toEqual([
      [1, "claude-sonnet-5", "/v1/messages", ["reset"]],
      [2, "claude-sonnet-5", "/v1/messages", ["hang"]],
      [3, "claude-sonnet-5", "/v1/messages", ["overloaded"]],
      [4, "claude-sonnet-5", "/v1/messages", []],
      [5, "claude-sonnet-5", "/v1/messages", []],
    ]);
    expect(told.filter(({ type }) => type === "reply").map(({ n, status, outcome }) => [n, status, outcome])).toEqual([
      [1, 0, "broken"],
      [2, 0, "broken"],
      [3, 529, "refused"],
      [4, 400, "refused"],
      [5, 500, "refused"],
    ]);
  });
});

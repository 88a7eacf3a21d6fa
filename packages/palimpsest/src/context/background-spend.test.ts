import { describe, expect, it } from "vitest";
import { noSpend, type SpendEntry, sumSpend } from "../cache/background-budget.ts";
import { CostLedger, type CostSource } from "../cache/cost-ledger.ts";
import type { SpendLog } from "../ports/spend-log.ts";
import { millis, nanoUsd, tokens } from "../schema/brand.ts";
import { BackgroundSpend } from "./background-spend.ts";

const model = "claude-sonnet-5";
const start = Date.UTC(2026, 10, 17, 12);
const cents = (count: number) => nanoUsd(count * 10_000_000);

/** Every output token costs a thousandth of a cent. */
const pay = (costs: CostLedger, source: CostSource, count: number): void =>
  void costs.add({ source, model, usage: { input_tokens: 0, output_tokens: count * 1_000 }, headerTokens: tokens(0) });

/** A log whose writes wait until they are let through. */
function slowLog(others: readonly SpendEntry[] = []) {
  const written: SpendEntry[] = [];
  const gate = Promise.withResolvers<void>();
  const state = { reads: 0, begun: 0 };
  const log: SpendLog = {
    add: async (entry) => {
      state.begun += 1;
      await gate.promise;
      written.push(entry);
    },
    since: async (at) => {
      state.reads += 1;
      return sumSpend([...others, ...written].filter((entry) => entry.at >= at));
    },
  };
  return { log, written, state, open: () => gate.resolve() };
}

function world(log?: SpendLog) {
  const time = { now: start };
  const costs = new CostLedger();
  const told: string[] = [];
  const create = () =>
    new BackgroundSpend({ now: () => millis(time.now) }, { costs, log, onPaused: (message) => told.push(message) });
  return { time, costs, told, create };
}

describe("what a session pays", () => {
  it("is written without waiting, and put together by source while a write is under way", async () => {
    const { log, written, state, open } = slowLog();
    const { costs, create } = world(log);
    const spend = create();
    pay(costs, "main", 1);
    await Promise.resolve();
    expect(state.begun).toBe(1);
    for (const source of ["main", "dream", "main"] as const) pay(costs, source, 2);
    expect(written).toEqual([]);
    open();
    await spend.flush();
    expect(written.map(({ source, nanos }) => [source, nanos])).toEqual([
      ["main", cents(1)],
      ["main", cents(4)],
      ["dream", cents(2)],
    ]);
  });

  it("is not written again when its costs are read from the transcript", async () => {
    const { log, written, open } = slowLog();
    const { costs, create } = world(log);
    open();
    pay(costs, "main", 1);
    await create().flush();
    expect(written).toEqual([]);
  });

  it("is not written if its price is not known", async () => {
    const { log, written, open } = slowLog();
    const { costs, create } = world(log);
    open();
    const spend = create();
    costs.add({ source: "main", model: "nobody-s", usage: { output_tokens: 9 }, headerTokens: tokens(0) });
    await spend.flush();
    expect(written).toEqual([]);
  });
});

describe("background work of a session", () => {
  const other = (source: CostSource, count: number): SpendEntry => ({ at: millis(start), source, nanos: cents(count) });

  it("counts what other sessions of the project have paid", async () => {
    const { log } = slowLog([other("main", 200), other("dream", 9)]);
    const spend = world(log).create();
    expect((await spend.mayStart(cents(1))).kind).toBe("ok");
    expect((await spend.mayStart(cents(2))).kind).toBe("over");
  });

  it("reads the log once a minute, and adds what the session has paid since, once", async () => {
    const { log, state, open } = slowLog([other("extraction", 3)]);
    const { time, costs, create } = world(log);
    open();
    const spend = create();
    pay(costs, "extraction", 1);
    expect((await spend.mayStart(cents(1))).kind).toBe("ok");
    pay(costs, "extraction", 1);
    expect((await spend.mayStart(cents(1))).kind).toBe("over");
    expect((await spend.budget())?.backgroundNanos).toBe(cents(5));
    expect(state.reads).toBe(1);
    time.now += 60_000;
    expect((await spend.budget())?.backgroundNanos).toBe(cents(5));
    expect(state.reads).toBe(2);
  });

  it("asks at once and reads once", async () => {
    const { log, state } = slowLog();
    const spend = world(log).create();
    await Promise.all([spend.mayStart(cents(1)), spend.mayStart(cents(1)), spend.budget()]);
    expect(state.reads).toBe(1);
  });

  it("is told to be paused once", async () => {
    const { log } = slowLog([other("dream", 5)]);
    const { told, create } = world(log);
    const spend = create();
    expect(told).toEqual([]);
    await spend.mayStart(cents(1));
    await spend.mayStart(cents(2));
    expect(told).toEqual([expect.stringMatching(/^Background memory work is paused\. .*\$0\.05/)]);
  });

  it.each<[string, SpendLog]>([
    ["loses everything", { add: async () => {}, since: async () => noSpend }],
    ["throws", { add: () => Promise.reject(new Error("gone")), since: () => Promise.reject(new Error("gone")) }],
  ])("counts the session's own costs if its log %s", async (_, log) => {
    const { costs, create } = world(log);
    const spend = create();
    expect((await spend.mayStart(cents(1))).kind).toBe("ok");
    pay(costs, "extraction", 5);
    expect((await spend.mayStart(cents(1))).kind).toBe("over");
    await spend.flush();
  });

  it("counts the session's own costs without a log, those of its past too", async () => {
    const { time, costs, create } = world();
    pay(costs, "main", 200);
    pay(costs, "dream", 5);
    const spend = create();
    pay(costs, "dream", 4);
    expect((await spend.mayStart(cents(1))).kind).toBe("ok");
    expect((await spend.mayStart(cents(2))).kind).toBe("over");
    expect(await spend.budget()).toBeUndefined();
    time.now += 24 * 60 * 60 * 1000;
    expect((await spend.mayStart(cents(2))).kind).toBe("ok");
  });
});

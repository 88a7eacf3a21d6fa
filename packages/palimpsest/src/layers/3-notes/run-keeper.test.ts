import { describe, expect, it } from "vitest";
import { handClock } from "../../../../../test/fixture/hand-clock.ts";
import { blobId, entryId } from "../../schema/brand.ts";
import { staleMillis, waitMillisMax } from "./limits.ts";
import { NotesKeeper, type NotesKeeperDeps } from "./run-keeper.ts";
import type { NotesOutcome } from "./run-notes.ts";
import type { NotesMoment } from "./notes-state.ts";

const rule = { firstTokens: 10_000, growthTokens: 5_000, callsMin: 3 };
const at = (contextTokens: number): NotesMoment => ({ contextTokens, calls: contextTokens, lastReply: "calls" });
const signal = new AbortController().signal;
const taken: NotesOutcome = {
  kind: "taken",
  covers: { entry: entryId("e"), blob: blobId("a".repeat(64)), contextTokens: 10_000 },
  tokens: 100,
  usage: [],
};
const failed: NotesOutcome = { kind: "failed", why: "model", message: "529", usage: [] };
const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Updates that end when the test says so. */
function keeping(over: Partial<NotesKeeperDeps> = {}) {
  const clock = handClock();
  const started: number[] = [];
  const ends: ((outcome: NotesOutcome) => void)[] = [];
  const told: NotesOutcome["kind"][] = [];
  const signals: AbortSignal[] = [];
  const keeper = new NotesKeeper({
    ...clock,
    rule: () => rule,
    take: ({ contextTokens }, stop) => {
      started.push(contextTokens);
      signals.push(stop);
      return new Promise((resolve) => {
        ends.push(resolve);
        stop.addEventListener("abort", () => resolve(failed));
      });
    },
    onEnded: ({ kind }) => {
      told.push(kind);
      return Promise.resolve();
    },
    ...over,
  });
  const end = (outcome: NotesOutcome): Promise<void> => {
    ends.shift()?.(outcome);
    return turns();
  };
  return { keeper, clock, started, told, signals, end };
}

describe("beside the conversation", () => {
  it("notes are taken one at a time; what came meanwhile is looked at when one ends", async () => {
    const { keeper, started, told, end } = keeping();
    for (const size of [9_000, 10_000, 11_000, 16_000]) keeper.notice(at(size));
    expect(started).toEqual([10_000]);
    await end(taken);
    expect(started).toEqual([10_000, 16_000]);
    await end(taken);
    expect([told, keeper.state]).toEqual([["taken", "taken"], "idle"]);
  });

  it("a session that goes on continues from the notes that it has", () => {
    const { started, clock } = keeping();
    const take: NotesKeeperDeps["take"] = ({ contextTokens }) => {
      started.push(contextTokens);
      return Promise.resolve(taken);
    };
    const keeper = new NotesKeeper({ ...clock, rule: () => rule, take, onEnded: () => Promise.resolve() }, at(30_000));
    keeper.notice(at(34_000));
    keeper.notice(at(35_000));
    expect(started).toEqual([35_000]);
  });

  it("nothing is taken where notes are off", () => {
    const { keeper, started } = keeping({ rule: () => undefined });
    keeper.notice(at(100_000));
    expect(started).toEqual([]);
  });

  it("what breaks in it reaches nobody, and after three failures it stops", async () => {
    const told: string[] = [];
    const { keeper, started } = keeping({
      take: () => Promise.reject(new Error("a bug")),
      onEnded: (outcome) => {
        if (outcome.kind === "failed") told.push(outcome.message);
        throw new Error("no log");
      },
    });
    for (const size of [10_000, 20_000, 30_000, 40_000]) {
      keeper.notice(at(size));
      await turns();
    }
    expect(told).toEqual(Array.from({ length: 3 }, () => "Taking notes failed: Error: a bug"));
    expect([started, keeper.state]).toEqual([[], "stopped"]);
  });

  it("closing stops the one in flight, and no other begins", async () => {
    const { keeper, started, signals } = keeping();
    keeper.notice(at(10_000));
    keeper.notice(at(20_000));
    await keeper.close();
    keeper.notice(at(30_000));
    expect(signals[0]?.aborted).toBe(true);
    expect(started).toEqual([10_000]);
  });
});

describe("a compaction", () => {
  it("does not wait where nothing is in flight", async () => {
    const { keeper, clock } = keeping();
    expect(await keeper.settle(signal)).toBe("idle");
    expect(clock.waiting()).toBe(0);
  });

  it("gets the notes of an update that ends in time, written down", async () => {
    const { keeper, clock, told, end } = keeping();
    keeper.notice(at(10_000));
    const settled = keeper.settle(signal);
    await clock.advance(waitMillisMax - 1);
    await end(taken);
    expect(await settled).toBe("ended");
    expect(told).toEqual(["taken"]);
    expect(clock.waiting()).toBe(0);
  });

  it("waits fifteen seconds and no longer", async () => {
    const { keeper, clock } = keeping();
    keeper.notice(at(10_000));
    const settled = keeper.settle(signal);
    await clock.advance(waitMillisMax);
    expect(await settled).toBe("late");
  });

  it("does not wait for one that has run for more than a minute", async () => {
    const { keeper, clock } = keeping();
    keeper.notice(at(10_000));
    await clock.advance(staleMillis + 1);
    expect(await keeper.settle(signal)).toBe("stale");
  });

  it("that is stopped waits no more", async () => {
    const { keeper } = keeping();
    const stop = new AbortController();
    keeper.notice(at(10_000));
    const settled = keeper.settle(stop.signal);
    stop.abort();
    expect(await settled).toBe("late");
  });
});

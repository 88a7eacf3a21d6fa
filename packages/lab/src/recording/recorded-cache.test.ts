import { describe, expect, it } from "vitest";
import { chained, type Raw, text } from "../../../../test/fixture/raw.ts";
import { readCacheHistory } from "./recorded-cache.ts";
import { splitRounds } from "./split-rounds.ts";
import type { SaidEntry } from "./uncut-path.ts";

interface Counted {
  /** Minutes since the session began. */
  readonly minutes: number;
  readonly read: number;
  readonly written: number;
  readonly writtenForAnHour?: number;
  /** What the user sent; one where it does not say. */
  readonly blocks?: number;
}

const header = 30_000;

function historyOf(...replies: readonly Counted[]) {
  const raws = replies.flatMap(({ minutes, read, written, writtenForAnHour = 0, blocks = 1 }, at): Raw[] => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      cache_creation: { ephemeral_1h_input_tokens: writtenForAnHour },
      output_tokens: 20,
    };
    const timestamp = new Date(minutes * 60_000).toISOString();
    return [
      {
        type: "user",
        uuid: `u${at}`,
        timestamp,
        message: { content: Array.from({ length: blocks }, () => text("go on")) },
      },
      {
        type: "assistant",
        uuid: `a${at}`,
        timestamp,
        message: { id: `m${at}`, model: "one", content: [text("done")], usage },
      },
    ];
  });
  const entries = chained(raws).map((entry) => ({ entry: entry as SaidEntry, follows: "directly" as const }));
  return readCacheHistory(splitRounds(entries), header);
}

describe("the cache that a recording shows", () => {
  it("has the lifetime of most of what was written", () => {
    const lifetime = (writtenForAnHour: number) =>
      historyOf({ minutes: 0, read: 0, written: 40_000, writtenForAnHour })?.cache.lifetime;
    expect([0, 20_000, 20_001, 40_000].map(lifetime)).toEqual(["5m", "5m", "1h", "1h"]);
  });

  it("has contexts that were cut where a request is much smaller than the one before, whatever is logged", () => {
    const first = { minutes: 0, read: 0, written: 100_000 };
    const contexts = (read: number) => historyOf(first, { minutes: 1, read, written: 0 })?.cache.contexts;
    expect([100_000, 91_000, 89_000].map(contexts)).toEqual(["whole", "whole", "cut"]);
  });

  it("is unknown where no writes are reported", () => {
    expect(historyOf({ minutes: 0, read: 9_000, written: 0 })).toBeUndefined();
  });

  it("holds of the header what the first request read, and at most the header", () => {
    expect(historyOf({ minutes: 0, read: 28_000, written: 14_000 })).toEqual({
      cache: { lifetime: "5m", sharedTokens: 28_000, contexts: "whole", lostTokens: 0 },
      events: [["header-shared"]],
    });
    expect(historyOf({ minutes: 0, read: 42_000, written: 1 })?.cache.sharedTokens).toBe(header);
    expect(historyOf({ minutes: 0, read: 0, written: 42_000 })).toMatchObject({
      cache: { sharedTokens: 0 },
      events: [[]],
    });
  });

  it("holds it after a gap too, where the request read as much, and not where it read less", () => {
    const first = { minutes: 0, read: 28_000, written: 32_000 };
    const second = { minutes: 1, read: 60_000, written: 5_000 };
    const after = (minutes: number, read: number) => historyOf(first, second, { minutes, read, written: 40_000 });
    expect(after(6, 28_500)).toMatchObject({
      cache: { sharedTokens: 28_000 },
      events: [["header-shared"], [], ["header-shared"]],
    });
    expect(after(6, 0)?.events).toEqual([["header-shared"], [], []]);
    // The least that was there counts.
    expect(after(6, 20_000)?.cache.sharedTokens).toBe(20_000);
    // The provider kept what the session itself had written.
    expect(after(6, 60_000)?.events.at(-1)).toEqual([]);
  });

  it.each([
    ["warm, where it read most of the request before", 4, 62_000, 0, []],
    ["lost, where it read little although nothing had expired", 4, 28_000, 37_000, []],
    ["expired, where it read little after the lifetime", 6, 28_000, 0, ["header-shared"]],
  ] as const)("counts what was written again: %s", (_, minutes, read, lostTokens, events) => {
    const history = historyOf({ minutes: 0, read: 0, written: 64_990 }, { minutes, read, written: 70_000 - read });
    expect(history?.cache.lostTokens).toBe(lostTokens);
    expect(history?.events.at(-1)).toEqual(events);
  });

  it.each([
    [18, 65_000],
    [19, 0],
  ])("does not count as lost what no mark could reach: %i blocks behind a reply", (blocks, lostTokens) => {
    const next = { minutes: 1, read: 0, written: 70_000, blocks };
    expect(historyOf({ minutes: 0, read: 0, written: 64_990 }, next)?.cache.lostTokens).toBe(lostTokens);
  });

  it("does not count as lost what follows a cut of the client's own", () => {
    const history = historyOf({ minutes: 0, read: 0, written: 90_000 }, { minutes: 1, read: 10_000, written: 20_000 });
    expect(history?.cache).toMatchObject({ contexts: "cut", lostTokens: 0 });
  });
});

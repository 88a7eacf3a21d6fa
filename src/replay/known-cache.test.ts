import { describe, expect, it } from "vitest";
import { callTokens, madeRecording, type MadeRound } from "../../test/fixture/replay/made-recording.ts";
import { Inventory } from "../cache/inventory.ts";
import { usualRates } from "../cache/rates.ts";
import { millis } from "../schema/brand.ts";
import { KnownCache, type KnownCacheOptions } from "./known-cache.ts";
import { ReplayedView } from "./replayed-view.ts";

const minute = 60_000;
const headerTokens = 10_000;

function world({ marks, lifetime }: Pick<KnownCacheOptions, "marks" | "lifetime">, made: readonly MadeRound[]) {
  const { rounds, tokensOf } = madeRecording(made);
  const inventory = new Inventory({ count: tokensOf, isClearable: () => true, markerTokens: 20 });
  const view = new ReplayedView({ watch: inventory });
  const known = new KnownCache({ marks, lifetime, rates: usualRates, headerTokens, inventory });
  let at = 0;
  const send = (afterMillis: number) => {
    const round = rounds[at];
    if (round === undefined) throw new Error("no more rounds");
    at += 1;
    view.say(round.before);
    const messages = view.next() ?? [];
    const time = millis(afterMillis);
    const marked = known.marksFor(messages, time);
    known.sent(marked, time);
    view.say(round.reply);
    return marked.breakpoints;
  };
  return { known, inventory, send };
}

describe("what a policy knows of the cache", () => {
  it("takes for warm what the last request held, until its lifetime ends", () => {
    const { known, send } = world({ marks: "planned", lifetime: "5m" }, [{}]);
    expect(known.prefixes.isCold(millis(0))).toBe(true);
    send(0);
    expect(known.prefixes.upTo(Infinity, millis(4 * minute))).toBe(100);
    expect(known.prefixes.isCold(millis(5 * minute))).toBe(true);
  });

  it.each(["planned", "system-and-last"] as const)(
    "reads up to the oldest result behind a cut, if that was marked: %s",
    (marks) => {
      const { known, inventory, send } = world({ marks, lifetime: "5m" }, [{}, { results: [900] }, {}]);
      for (const round of [0, 1, 2]) send(round * minute);
      const { oldest } = inventory;
      known.cut(oldest === undefined ? 0 : inventory.offsetOf(oldest));
      const head = 100 + 50 + callTokens;
      expect(known.prefixes.upTo(Infinity, millis(3 * minute))).toBe(marks === "planned" ? head : 100);
    },
  );

  it.each<[string, KnownCacheOptions["lifetime"], KnownCacheOptions["marks"], number, string]>([
    ["as it is told", "1h", "system-and-last", 1, "1h"],
    ["as it is told, whatever would pay", "5m", "planned", 10, "5m"],
    ["by choice, an hour where gaps are many", "chosen", "planned", 10, "1h"],
    ["by choice, five minutes where they are few", "chosen", "planned", 1, "5m"],
    ["five minutes where it can't choose", "chosen", "system-and-last", 10, "5m"],
  ])("writes %s", (_, lifetime, marks, gapMinutes, written) => {
    const rounds = 30;
    const { known, send } = world(
      { lifetime, marks },
      Array.from({ length: rounds + 1 }, () => ({ said: 10 })),
    );
    for (let round = 0; round < rounds; round += 1) send(round * gapMinutes * minute);
    expect(send((rounds * gapMinutes - gapMinutes + 1) * minute).at(-1)?.lifetime).toBe(written);
    expect(known.rates).toBe(usualRates[lifetime === "1h" ? "1h" : "5m"]);
  });
});

import { describe, expect, it } from "vitest";
import { type SpendEntry, sumSpend } from "../../packages/palimpsest/src/cache/background-budget.ts";
import { type CostSource, costSources } from "../../packages/palimpsest/src/cache/cost-ledger.ts";
import type { SpendLog } from "../../packages/palimpsest/src/ports/spend-log.ts";
import { millis, nanoUsd } from "../../packages/palimpsest/src/schema/brand.ts";

export interface SpendLogUnderTest {
  readonly name: string;
  readonly make: () => Promise<SpendLog>;
}

const day = 24 * 60 * 60 * 1000;
const noon = Date.UTC(2026, 10, 17, 12);
const paid = (source: CostSource, nanos: number, at = noon): SpendEntry => ({
  at: millis(at),
  source,
  nanos: nanoUsd(nanos),
});
const weekBefore = millis(noon - 7 * day);

/** The rules of the port, for every implementation alike. */
export function spendLogContract({ name, make }: SpendLogUnderTest): void {
  describe(`a spend log in ${name}`, () => {
    const addAll = async (log: SpendLog, ...entries: readonly SpendEntry[]): Promise<void> => {
      for (const entry of entries) await log.add(entry);
    };

    it("has nothing at first", async () => {
      expect(await (await make()).since(millis(0))).toEqual(sumSpend([]));
    });

    it("counts notes, extraction and dreams as background, and every other source as main", async () => {
      const log = await make();
      await addAll(log, ...costSources.map((source, at) => paid(source, 10 ** at)));
      const { mainNanos, backgroundNanos } = await log.since(weekBefore);
      const nanos = (...sources: readonly CostSource[]) =>
        sources.reduce((sum, source) => sum + 10 ** costSources.indexOf(source), 0);
      expect(backgroundNanos).toBe(nanos("notes", "extraction", "dream"));
      expect(mainNanos).toBe(nanos("main", "compact", "agents", "recall"));
    });

    it("sums by UTC day", async () => {
      const log = await make();
      const midnight = Date.UTC(2026, 10, 17);
      await addAll(log, paid("main", 1, midnight - 1), paid("main", 2, midnight), paid("dream", 4, midnight + day - 1));
      expect([...(await log.since(weekBefore)).byDay]).toEqual([
        ["2026-11-16", { mainNanos: 1, backgroundNanos: 0 }],
        ["2026-11-17", { mainNanos: 2, backgroundNanos: 4 }],
      ]);
    });

    it("counts from the given moment on, in the middle of a day too", async () => {
      const log = await make();
      await addAll(log, paid("main", 1, noon - 1), paid("main", 2, noon), paid("main", 4, noon + 1));
      expect((await log.since(millis(noon))).mainNanos).toBe(6);
    });

    it("keeps a week, also if the clock went back", async () => {
      const log = await make();
      await addAll(log, paid("main", 1, noon - 7 * day), paid("main", 2), paid("main", 4, noon - 3 * day));
      expect((await log.since(weekBefore)).mainNanos).toBe(7);
    });

    it("forgets what is older than nine days", async () => {
      const log = await make();
      await addAll(log, paid("main", 1, noon - 10 * day), paid("main", 2));
      expect((await log.since(millis(0))).mainNanos).toBe(2);
    });

    it("keeps every entry of many that are added at once", async () => {
      const log = await make();
      await Promise.all(Array.from({ length: 200 }, (_, at) => log.add(paid("main", at))));
      expect((await log.since(weekBefore)).mainNanos).toBe(19_900);
    });
  });
}

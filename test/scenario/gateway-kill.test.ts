import { expect, it } from "vitest";
import { runSchedules } from "./support/gateway-schedule.ts";

it("an agent whose requests meet faults and killed gateways loses nothing and has nothing twice, in 12 schedules", async () => {
  const seeds = Array.from({ length: 12 }, (_, at) => at + 1);
  const { failures, ...numbers } = await runSchedules({ seeds, rounds: 5, lanes: 2 });
  expect(failures).toEqual([]);
  expect(numbers.kills).toBeGreaterThan(0);
  expect(numbers.recalls).toBeGreaterThan(0);
  expect(numbers.failedOpen).toBeGreaterThan(0);
});

it("a result that was stored before the disk became read-only is not stored again", async () => {
  // The write that fails is that of an edit of the round's results.
  const { failures, struckByTrouble } = await runSchedules({ seeds: [118], rounds: 6, lanes: 1 });
  expect(failures).toEqual([]);
  expect(struckByTrouble).toMatchObject({ "store read-only": expect.any(Number) as unknown });
});

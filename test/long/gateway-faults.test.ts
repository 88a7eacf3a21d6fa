import { expect, it } from "vitest";
import { runSchedules } from "../scenario/support/gateway-schedule.ts";

const count = 1_000;

it("an agent whose requests meet faults and killed gateways loses nothing and has nothing twice, in 1,000 schedules", async () => {
  const seeds = Array.from({ length: count }, (_, at) => at + 1_001);
  const { failures, ...numbers } = await runSchedules({ seeds, rounds: 6, lanes: 4 });
  process.stdout.write(`${JSON.stringify(numbers)}\n`);
  expect(failures).toEqual([]);
  expect(numbers).toMatchObject({ schedules: count });
});

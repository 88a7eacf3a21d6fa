import { expect, it } from "vitest";
import { runSchedules } from "../scenario/support/gateway-schedule.ts";

const size = 100;

it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
  "an agent whose requests meet faults and killed gateways loses nothing and has nothing twice: hundred %i of 1,000 schedules",
  async (hundred) => {
    const seeds = Array.from({ length: size }, (_, at) => hundred * size + at + 1);
    const { failures, ...numbers } = await runSchedules({ seeds, rounds: 6, lanes: 4 });
    process.stdout.write(`${JSON.stringify({ hundred, failures, ...numbers })}\n`);
    expect(failures).toEqual([]);
    expect(numbers).toMatchObject({ schedules: size });
  },
);

import { describe, expect, it } from "vitest";
import { clearingWorld, sentText, usagesIn } from "./support/clearing-world.ts";
import { refused } from "./support/whole-agent.ts";

const tenMinutes = 10 * 60_000;

/** A long conversation in which every second turn comes ten minutes late. */
async function hesitant(
  turns: number,
): Promise<{ lifetimes: readonly string[]; read: readonly number[]; refused: number }> {
  const world = clearingWorld();
  const agent = await world.agent("create", {
    flags: [
      ["off", "clear.idle"],
      ["off", "clear.size"],
    ],
  });
  await agent.turn("read 8 × 200");
  const lifetimes: string[] = [];
  const read: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    if (turn % 2 === 1) world.simulator.clock.advance(tenMinutes);
    const [usage] = usagesIn(await agent.turn("And now?"));
    read.push(usage?.cacheRead ?? 0);
    lifetimes.push(sentText(world.seen.at(-1)).includes('"ttl":"1h"') ? "1h" : "5m");
  }
  return { lifetimes, read, refused: refused(world.seen).length };
}

describe("how long what is written lives", () => {
  it("one small request marked for an hour keeps a long conversation through pauses of ten minutes", async () => {
    const { lifetimes, read, refused: flaws } = await hesitant(8);
    expect(flaws).toBe(0);
    expect(lifetimes.filter((one) => one === "1h").length).toBeGreaterThan(0);
    expect(lifetimes.filter((one) => one === "1h").length).toBeLessThan(lifetimes.length / 2);
    const [atOnce = 0] = read;
    for (const tokens of read) expect(tokens).toBeGreaterThan(0.99 * atOnce);
  });
});

import { expect, it } from "vitest";
import { changesOfTurn, everyPoint, expectAllGoOn } from "../scenario/support/killed-turn.ts";

it("a turn killed at every change to the disk: --continue goes on, nothing is lost, doubled or run again", async () => {
  const points = everyPoint(await changesOfTurn());
  expect(points.length).toBeGreaterThan(20);
  await expectAllGoOn(points);
});

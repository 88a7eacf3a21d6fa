import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { called } from "./support/called.ts";
import {
  changesOfTurn,
  dieInCommand,
  everyPoint,
  expectAllGoOn,
  expectGoesOn,
  killWorld,
} from "./support/killed-turn.ts";

describe("a turn that is killed", () => {
  it("at any change to the disk (all of them in the long run): --continue goes on, nothing is lost, doubled or run again", async () => {
    const changes = await changesOfTurn();
    const points = everyPoint(changes);
    // Of those that write: each third one, before and in the middle in turn.
    await expectAllGoOn(points.filter(({ at }, n) => changes[at] === "write" && n % 3 === 0));
  });

  it("while a command runs: the command is not run again, and the model is told that it was interrupted", async () => {
    const world = await killWorld();
    expect(await dieInCommand(world)).toMatchObject({ signal: "SIGKILL" });
    await writeFile(join(world.work, "CLAUDE.md"), "Rules that came meanwhile.\n");
    await expectGoesOn(world);
    const last = JSON.stringify(world.seen.at(-1)?.body);
    expect(last).toContain("[The call was interrupted: no result was recorded.]");
    expect(last).toContain("Rules that came meanwhile.");
    expect(await called({ home: world.home, cwd: world.work }, "sessions", "fsck", world.id)).toMatchObject({
      code: 0,
    });
  });
});

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startWithMountCheck } from "./bubblewrap.ts";

const inner = { program: "/bin/echo", args: ["ran", "a b"], cwd: "/", env: {} };

test("a program without mounts that others could move is started as it is", () => {
  expect(startWithMountCheck(inner, { points: ["/p/.git", "/home/ann/.ssh"], folders: ["/p"] })).toBe(inner);
});

/** Some mount of this machine below a folder that is none of the root's own. */
const mounted = (existsSync("/proc/self/mountinfo") ? readFileSync("/proc/self/mountinfo", "utf8") : "")
  .split("\n")
  .map((line) => line.split(" ")[4] ?? "")
  .find((point) => /^\/[^/\\]+\/[^\\]+$/.test(point));

test.skipIf(mounted === undefined).each([
  ["where its mounts are where they were meant to be", [], "ran a b\n", 0],
  ["not where one is missing", ["/dev/no such\\mount"], "", 126],
])("a program is started %s", (_, more, stdout, status) => {
  const points = [mounted ?? "", ...more];
  const { program, args } = startWithMountCheck(inner, { points, folders: ["/"] });
  const ended = spawnSync(program, [...args], { encoding: "utf8" });
  expect(ended).toMatchObject({ stdout, status });
});

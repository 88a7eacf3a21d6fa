import { expect, test } from "vitest";
import { plain } from "../style.ts";
import { checksText, failed, fine, warning } from "./check.ts";
import { freeCheck, nodeCheck } from "./machine.ts";
import { programIn } from "./place.ts";

test.each([
  ["22.9.0", "failed"],
  ["24.0.0", "fine"],
  ["100.1.0", "fine"],
])("Node %s: %s", (version, state) => {
  expect(nodeCheck(version).state).toBe(state);
});

test.each([
  [5_000_000_000, "fine"],
  [500_000_000, "warning"],
  [5_000_000, "failed"],
])("%d bytes free: %s", (free, state) => {
  expect(freeCheck(free).state).toBe(state);
});

test.each([
  ["  ./check.sh --fast", "./check.sh"],
  ["node hook.js", "node"],
  ["$HOME/hook.sh", undefined],
  ["A=1 run", undefined],
  ['"/with space/x"', undefined],
  ["(cd x && y)", undefined],
])("the program of %j is %j", (command, program) => {
  expect(programIn(command)).toBe(program);
});

test("each check is a line with its sign, and below it what to do", () => {
  const checks = [
    fine("node", "24"),
    warning("shell", { says: "sh", todo: "Install bash." }),
    failed("disk", { says: "full" }),
  ];
  expect(checksText(checks, plain)).toBe(
    "✓ node   24\n! shell  sh\n         → Install bash.\n✗ disk   full\n1 of 3 failed\n",
  );
  expect(checksText(checks.slice(0, 2), plain)).toMatch(/it works, with warnings\n$/);
});

import { expect, test } from "vitest";
import type { SandboxSearch } from "palimpsest/internal/ports/sandbox";
import { plain } from "../style.ts";
import { checksText, failed, fine, warning } from "./check.ts";
import { freeCheck, nodeCheck } from "./machine.ts";
import { programIn } from "./place.ts";
import { sandboxCheck } from "./sandbox.ts";

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

const found: SandboxSearch = {
  kind: "found",
  sandbox: { system: "bubblewrap", enter: async () => ({ kind: "refused", why: "not in this test" }) },
};
const none: SandboxSearch = { kind: "none", why: "bubblewrap is not installed", remedy: "install it" };

const turnOn = "Take `sandbox` out of your settings and PALIMPSEST_SANDBOX out of the environment.";

test.each([
  ["auto", found, "fine", "bubblewrap: commands run inside it", undefined],
  ["auto", none, "warning", "none: bubblewrap is not installed", "Install it."],
  ["required", none, "failed", "required, and there is none: bubblewrap is not installed", "Install it."],
  ["off", found, "warning", "turned off: commands may do what you may do", turnOn],
] as const)("the sandbox as %s asks for it: %o is %s", (mode, search, state, says, todo) => {
  expect(sandboxCheck(mode, search)).toEqual({ name: "sandbox", state, says, ...(todo === undefined ? {} : { todo }) });
});

import { expect, test } from "vitest";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import { plain } from "../text/style.ts";
import { checksText, failingCheck, okCheck, warningCheck } from "./check.ts";
import { freeCheck, nodeCheck, sandboxCheck } from "./machine-checks.ts";
import { firstProgram, modelAddress } from "./place-checks.ts";

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
  expect(firstProgram(command)).toBe(program);
});

const bothAddresses = { OPENAI_BASE_URL: "http://openai.test", ANTHROPIC_BASE_URL: "http://anthropic.test" };

test.each([
  ["claude-sonnet-5-5", {}, "https://api.anthropic.com"],
  ["gpt-5", {}, "https://api.openai.com"],
  ["gpt-5", { OPENAI_BASE_URL: "http://openai.test" }, "http://openai.test"],
  ["claude-sonnet-5-5", bothAddresses, "http://anthropic.test"],
  ["gpt-5", bothAddresses, "http://anthropic.test"],
])("the address that is checked is the agent's: %s with %o is at %s", (model, env, address) => {
  expect(modelAddress(model, env)).toBe(address);
});

test("each check is a line with its sign, and below it what to do", () => {
  const checks = [
    okCheck("node", "24"),
    warningCheck("shell", { says: "sh", todo: "Install bash." }),
    failingCheck("disk", { says: "full" }),
  ];
  expect(checksText(checks, plain)).toBe(
    "✓ node   24\n! shell  sh\n         → Install bash.\n✗ disk   full\n1 of 3 failed\n",
  );
  expect(checksText(checks.slice(0, 2), plain)).toMatch(/it works, with warnings\n$/);
});

const found: SandboxSearchOutcome = {
  kind: "found",
  sandbox: { system: "bubblewrap", enter: async () => ({ kind: "refused", why: "not in this test" }) },
};
const none: SandboxSearchOutcome = { kind: "none", why: "bubblewrap is not installed", remedy: "install it" };

const turnOn = "Take `sandbox` out of your settings and PALIMPSEST_SANDBOX out of the environment.";

test.each([
  ["auto", found, "fine", "bubblewrap: commands run inside it", undefined],
  ["auto", none, "warning", "none: bubblewrap is not installed", "Install it."],
  ["required", none, "failed", "required, and there is none: bubblewrap is not installed", "Install it."],
  ["off", found, "warning", "turned off: commands may do what you may do", turnOn],
] as const)("the sandbox as %s asks for it: %o is %s", (mode, search, state, says, todo) => {
  expect(sandboxCheck(mode, search)).toEqual({ name: "sandbox", state, says, ...(todo === undefined ? {} : { todo }) });
});

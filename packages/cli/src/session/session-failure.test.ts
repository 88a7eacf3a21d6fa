import { expect, test } from "vitest";
import { agentFailure, sessionFailure, turnExitCode } from "./session-failure.ts";

test.each([
  ["lock-lost", 4],
  ["disk-full", 6],
  ["io", 6],
] as const)("a write that fails with %s has the exit code %d, whether opening, writing or in a turn", (why, code) => {
  const failed = { kind: "failed", why, message: "It was not written." } as const;
  expect(agentFailure(failed, "Wait.").code).toBe(code);
  expect(sessionFailure(failed, "s1").code).toBe(code);
  expect(turnExitCode({ reason: "failed", unwritten: why })).toBe(code);
});

import { expect, test } from "vitest";
import { syncFailureEnd, requestFailureEnd } from "./unanswered-turn.ts";

const failure = { why: "refused", retry: "never", message: "Bad Request" } as const;
const full = { kind: "failed", why: "disk-full", message: "The disk is full." } as const;

test("a request that nothing cured says what else was refused", () => {
  const { message } = requestFailureEnd({ failure, message: "Bad Request", tried: ["thinking", "everything"] });
  expect(message).toBe("Bad Request. It was also refused without thinking, with a summary in place of everything.");
  expect(requestFailureEnd({ failure, message: "Bad Request", tried: [] }).message).toBe("Bad Request");
});

test("what went wrong first is told first where the disk then refuses the turn, and keeps its remedies", () => {
  const end = { reason: "failed", message: "No such key", remedies: ["check-key"] } as const;
  expect(syncFailureEnd(end, full)).toEqual({
    ...end,
    message: "No such key. The disk is full.",
    unwritten: "disk-full",
  });
});

test.each(["answered", "aborted"] as const)("a turn that was %s fails where the disk refuses it", (reason) => {
  expect(syncFailureEnd({ reason }, full)).toMatchObject({ reason: "failed", message: full.message });
});

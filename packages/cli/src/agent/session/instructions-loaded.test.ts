import { expect, it } from "vitest";
import { instructionsLoadedEvent } from "./session-hooks.ts";

it.each([
  [
    { path: "/a", scope: "managed" },
    { memoryType: "Managed", reason: "session_start" },
  ],
  [
    { path: "/a", scope: "user" },
    { memoryType: "User", reason: "session_start" },
  ],
  [
    { path: "/a", scope: "project" },
    { memoryType: "Project", reason: "session_start" },
  ],
  [
    { path: "/a", scope: "local", importedBy: "/b" },
    { memoryType: "Local", reason: "include", parentPath: "/b" },
  ],
] as const)("%j is told as %j", (file, fields) => {
  expect(instructionsLoadedEvent(file, { reason: "session_start" })).toEqual({
    name: "InstructionsLoaded",
    path: "/a",
    ...fields,
  });
});

it("after a compaction that is the reason", () => {
  expect(instructionsLoadedEvent({ path: "/a", scope: "user" }, { reason: "compact" })).toMatchObject({
    reason: "compact",
  });
});

import { expect, test } from "vitest";
import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { observePrompts } from "./terminal-ui.ts";

const ask: PermissionPrompt = { toolUse: toolUseId("t"), tool: "bash", input: {}, acts: [], reason: "Why." };

test.each<[string, PermissionPrompt, string]>([
  ["a tool", ask, "use bash"],
  [
    "a tool of a server",
    { ...ask, tool: "use_tool", acts: [{ kind: "mcp", server: "calc", tool: "add" }] },
    "use add of the MCP server calc",
  ],
])("a notification names %s by what would be used", async (_, asked, words) => {
  const messages: string[] = [];
  const user = observePrompts(
    {
      permission: async () => ({ kind: "denied" }),
      question: async () => ({ kind: "nobody" }),
      review: async () => ({ kind: "nobody" }),
      choose: async () => undefined,
    },
    { notify: ({ message }) => void messages.push(message), act: () => {}, interrupt: () => {} },
  );
  await user.permission(asked, new AbortController().signal);
  expect(messages).toEqual([`palimpsest needs your permission to ${words}`]);
});

test.each([
  ["interrupted", 1],
  ["denied", 0],
] as const)("an answer that is %s ends the turn %i times", async (kind, times) => {
  let interrupts = 0;
  const user = observePrompts(
    {
      permission: async () => ({ kind }),
      question: async () => ({ kind: "nobody" }),
      review: async () => ({ kind: "nobody" }),
      choose: async () => undefined,
    },
    { notify: () => {}, act: () => {}, interrupt: () => void (interrupts += 1) },
  );
  expect(await user.permission(ask, new AbortController().signal)).toEqual({ kind });
  expect(interrupts).toBe(times);
});

import { expect, test } from "vitest";
import { millis, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import type { ChatState } from "./chat-state.ts";
import { type ChatAction, updateChat, createChat } from "./update-chat.ts";

const thresholds = computeThresholds({
  rule: { outputReserveTokensMax: 20_000, compactBufferTokens: 13_000, inputLimit: "ignored" },
  window: tokens(200_000),
  outputTokensMax: tokens(20_000),
  autoCompact: "on",
});
const fresh = createChat({ model: "m", thresholds, autoCompact: "on" });
const calls = (tool: string): ChatAction => ({
  kind: "event",
  event: { kind: "call-start", id: toolUseId("a"), tool, input: {} },
  at: millis(1),
});
const asks: ChatAction = { kind: "prompted", tool: "plan" };
const answered: ChatAction = { kind: "answered", tool: "plan" };

const asking = [{ kind: "asking", tool: "plan" }, "asking"] as const;
const running = [{ kind: "calling", tools: ["plan"] }, "running"] as const;

test.each<[string, readonly ChatAction[], readonly [ChatState["phase"], string]]>([
  ["waits for the user", [calls("plan"), asks], asking],
  ["waits for them also where it is asked before its call is told", [asks, calls("plan")], asking],
  ["goes on once they have answered", [calls("plan"), asks, answered], running],
  ["goes on though all of it came before its call is told", [asks, answered, calls("plan")], running],
  ["is nothing to another tool's call", [calls("read"), asks], [{ kind: "calling", tools: ["read"] }, "running"]],
])("a call that has a question %s", (_, acts, [phase, state]) => {
  const after = acts.reduce(updateChat, fresh);
  expect(after.phase).toEqual(phase);
  expect(after.open).toMatchObject([{ state }]);
});

test("an interrupt is not taken back by a question", () => {
  const acts: readonly ChatAction[] = [calls("plan"), { kind: "interrupt" }, asks, answered];
  expect(acts.reduce(updateChat, fresh).phase).toEqual({ kind: "interrupting" });
});

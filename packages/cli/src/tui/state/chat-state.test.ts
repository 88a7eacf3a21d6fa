import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AppendOnlyList, type ChatState, callEndState, hasFreshMemories } from "./chat-state.ts";
import { millis, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { type ChatAction, updateChat, createChat } from "./update-chat.ts";
import { planRefusedText } from "../../tool/plan-tool.ts";

test("every list of a tree of lists holds what was added on the way to it, whatever was added to the others", () => {
  const steps = fc.array(fc.tuple(fc.nat(), fc.integer()), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (added) => {
      const lists = [{ grown: AppendOnlyList.of<number>(), plain: [] as readonly number[] }];
      for (const [pick, item] of added) {
        const from = lists[pick % lists.length] ?? { grown: AppendOnlyList.of<number>(), plain: [] };
        lists.push({ grown: from.grown.with(item), plain: [...from.plain, item] });
      }
      for (const { grown, plain } of lists) {
        expect([...grown]).toEqual(plain);
        expect(grown).toHaveLength(plain.length);
      }
    }),
  );
});

test.each([
  ["the beginning", 0, [1, 2, 3]],
  ["the middle", 2, [3]],
  ["the end", 3, []],
  ["before the beginning", -5, [1, 2, 3]],
])("is read from %s on", (_, start, expected) => {
  expect([...AppendOnlyList.of(1, 2, 3).from(start)]).toEqual(expected);
});

test("has nothing outside its own length, also where a longer list shares its cells", () => {
  const short = AppendOnlyList.of(1);
  short.with(2);
  expect([short.at(0), short.at(1), short.at(-1)]).toEqual([1, undefined, undefined]);
});

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

test.each([
  ["plan", planRefusedText, { state: "denied", summary: "" }],
  ["plan", `${planRefusedText}: smaller steps`, { state: "denied", summary: "smaller steps" }],
  ["plan", "the plan was accepted", { state: "done", summary: "the plan was accepted" }],
  ["bash", planRefusedText, { state: "done", summary: planRefusedText }],
])("%s that ends with %j", (tool, summary, expected) => {
  expect(callEndState({ tool, state: "done", summary })).toEqual(expected);
});

const saves: ChatAction = {
  kind: "event",
  event: { kind: "memories-saved", by: "extraction", revision: "r1", memories: [] },
  at: millis(1),
};
const says: ChatAction = { kind: "say", text: "Hello." };

test.each<[string, readonly ChatAction[], boolean]>([
  ["none were saved", [says], false],
  ["they were saved since the user spoke", [says, saves, { kind: "tell", tone: "plain", text: "x" }], true],
  ["a call runs above them", [says, calls("read"), saves], true],
  ["the user has spoken since", [saves, says], false],
])("saved memories can be taken back with a key if %s", (_, acts, expected) => {
  expect(hasFreshMemories(acts.reduce(updateChat, fresh))).toBe(expected);
});

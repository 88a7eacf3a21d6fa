import { describe, expect, it } from "vitest";
import { longText } from "../../../../test/fixture/asking.ts";
import {
  answered,
  asks,
  clearThinking,
  clearToolUses,
  Edited,
  edits,
  tokens,
  totalOf,
  turns,
  uses,
} from "../../../../test/fixture/edited.ts";
import { call, result, says, text, user } from "../../../../test/fixture/wire-request.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { TraceWriter } from "../trace/trace-writer.ts";
import { clearedResultText } from "./context-edits.ts";

const free = "claude-opus-5";
const bound = "claude-opus-5-5";
const older = "claude-haiku-4-5";

const words = (of: string): string => `${of} was found in the file. `.repeat(60);

/** One use after the other, of the tools named. */
const using = (...tools: readonly string[]): JsonObject[] => [
  user(text("Look around.")),
  ...tools.flatMap((name, at) => [
    says(call(`toolu_${at}`, { name, input: { path: `${name}-${at}.ts`, text: words("input") } })),
    user(result(`toolu_${at}`, words(`Result ${at}`))),
  ]),
];
const five = using("Read", "Bash", "Read", "Write", "Read");
const now = { trigger: tokens(0) };

/** Which results and inputs are gone, by the number of the use. */
const goneIn = (messages: readonly WireMessage[]): { results: string; inputs: string } => {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return {
    results: blocks
      .flatMap((block) =>
        block.type === "tool_result" && block.content === clearedResultText ? [block.tool_use_id.slice(6)] : [],
      )
      .join(""),
    inputs: blocks
      .flatMap((block) =>
        block.type === "tool_use" && Object.keys(block.input).length === 0 ? [block.id.slice(6)] : [],
      )
      .join(""),
  };
};

const gone = async (edit: JsonObject, messages: JsonObject[] = five): Promise<ReturnType<typeof goneIn>> =>
  goneIn(await new Edited({ model: free }).shown({ messages, ...edits(edit) }));

describe("tool uses", () => {
  it.each<[string, JsonObject, { results: string; inputs?: string }]>([
    ["keeps the newest three", now, { results: "01" }],
    ["keeps as many as it is told", { ...now, keep: uses(1) }, { results: "0123" }],
    ["keeps none where it is told so", { ...now, keep: uses(0) }, { results: "01234" }],
    ["keeps all where there are no more", { ...now, keep: uses(5) }, { results: "" }],
    ["leaves excluded tools alone", { ...now, keep: uses(0), exclude_tools: ["Read"] }, { results: "13" }],
    ["counts excluded tools among the newest", { ...now, keep: uses(2), exclude_tools: ["Read"] }, { results: "1" }],
    ["leaves inputs alone", { ...now, clear_tool_inputs: false }, { results: "01" }],
    ["clears all inputs of what it clears", { ...now, clear_tool_inputs: true }, { results: "01", inputs: "01" }],
    [
      "clears the inputs of the tools named",
      { ...now, keep: uses(1), clear_tool_inputs: ["Write"] },
      { results: "0123", inputs: "3" },
    ],
    ["waits for 100,000 tokens", {}, { results: "" }],
    ["waits for more uses than it is told", { trigger: uses(5) }, { results: "" }],
    ["goes by the number of uses", { trigger: uses(4) }, { results: "01" }],
  ])("%s", async (_, edit, { results, inputs = "" }) => {
    expect(await gone(clearToolUses(edit))).toEqual({ results, inputs });
  });

  it("waits for more tokens than it is told, and clears no less than it is told", async () => {
    const to = new Edited({ model: free });
    const all = to.count({ messages: five }).input_tokens;
    const asked = (more: JsonObject) => to.applied({ messages: five, ...edits(clearToolUses(more)) });
    expect(await asked({ trigger: tokens(all) })).toEqual([]);
    const [applied] = (await asked({ trigger: tokens(all - 1) })) ?? [];
    const cleared = applied?.cleared_input_tokens ?? 0;
    expect(applied).toMatchObject({ type: "clear_tool_uses_20250919", cleared_tool_uses: 2 });
    expect(await asked({ ...now, clear_at_least: tokens(cleared) })).toEqual([applied]);
    expect(await asked({ ...now, clear_at_least: tokens(cleared + 1) })).toEqual([]);
  });

  it("a default trigger is met by a long conversation", async () => {
    const long = [...five.slice(0, 2), user(result("toolu_0", longText("It").repeat(20))), ...five.slice(3)];
    expect((await gone(clearToolUses(), long)).results).toBe("01");
  });

  it("keeps what belongs to a result besides its content", async () => {
    const failed = result("toolu_0", words("Trace"), { is_error: true });
    const shown = await new Edited({ model: free }).shown({
      messages: [...five.slice(0, 2), user(failed), ...five.slice(3)],
      ...edits(clearToolUses(now)),
    });
    expect(shown[2]?.content).toEqual([{ ...failed, content: clearedResultText }]);
  });

  it.each([
    ["longer", "ok"],
    ["no shorter", clearedResultText.replace("server", "client")],
  ])("are not cleared where that would make the prompt %s", async (_, content) => {
    const short = five.map((message, at) =>
      at > 0 && at % 2 === 0 ? user(result(`toolu_${at / 2 - 1}`, content)) : message,
    );
    expect(await new Edited({ model: free }).applied({ messages: short, ...edits(clearToolUses(now)) })).toEqual([]);
  });

  it("that a compaction stands for are neither cleared nor counted", async () => {
    const to = new Edited({ model: free });
    to.headers = { "anthropic-beta": "context-management-2025-06-27,compact-2026-01-12" };
    const summary = says({ type: "compaction", content: "Five were used." });
    const messages = [...five, summary, ...using("Read", "Read").map((message) => renamed(message, "later"))];
    const asked = (trigger: number) =>
      to.applied({ messages, ...edits(clearToolUses({ trigger: uses(trigger), keep: uses(1) })) });
    expect(await asked(2)).toEqual([]);
    expect(await asked(1)).toMatchObject([{ cleared_tool_uses: 1 }]);
  });

  it("of server tools are neither cleared nor counted", async () => {
    const searched = says(
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: words("query") } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      text("Found."),
    );
    const messages = [user(text("Search.")), searched, ...five];
    const edit = { trigger: uses(4), clear_tool_inputs: true, keep: uses(4) };
    expect(await gone(clearToolUses(edit), messages)).toEqual({ results: "0", inputs: "0" });
    expect((await gone(clearToolUses({ ...edit, trigger: uses(5) }), messages)).results).toBe("");
  });
});

const renamed = (message: JsonObject, name: string): JsonObject =>
  JSON.parse(JSON.stringify(message).replaceAll("toolu_", `toolu_${name}_`)) as JsonObject;

const thought = (at: string) => ({ type: "thinking", thinking: words(`Thought ${at}`) }) as const;

/** Three turns of the assistant, each with a tool loop of two replies that think. */
const conversed = async (to: Edited): Promise<JsonObject[]> => {
  const messages: JsonObject[] = [];
  for (const turn of ["a", "b", "c"]) {
    messages.push(asks(`Question ${turn}`));
    const id = `toolu_${turn}`;
    to.says = [thought(`${turn}1`), { type: "tool_use", id, name: "Read", input: {} }];
    messages.push(answered(await to.message({ messages })), user(result(id, words(turn))));
    to.says = [thought(`${turn}2`), { type: "text", text: `Answer ${turn}` }];
    messages.push(answered(await to.message({ messages })));
  }
  return [...messages, asks("And now?")];
};

const thinkingBase = (model: string): JsonObject => ({
  model,
  tools: [{ name: "Read", input_schema: { type: "object" } }],
  thinking: model === older ? { type: "enabled", budget_tokens: 1_024 } : { type: "adaptive" },
});

const thoughtsIn = (messages: readonly WireMessage[]): readonly string[] =>
  messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap((block) => (block.type === "thinking" ? [block.thinking.slice(8, 10)] : [])),
  );

describe("thinking", () => {
  const all = ["a1", "a2", "b1", "b2", "c1", "c2"];

  it.each<[string, string, JsonObject, readonly string[]]>([
    ["of the newest turns stays, whole loops", free, { keep: turns(2) }, all.slice(2)],
    ["of the newest turn stays", free, { keep: turns(1) }, all.slice(4)],
    ["stays where there are no more turns", free, { keep: turns(3) }, all],
    ["all stays, said as a word", free, { keep: "all" }, all],
    ["all stays, said as a type", free, { keep: { type: "all" } }, all],
    ["all stays by default on newer models", free, {}, all],
    ["of the newest turn stays by default on older models", older, {}, all.slice(4)],
    ["all stays on older models too where it is told so", older, { keep: "all" }, all],
    ["of more turns stays on older models than by themselves", older, { keep: turns(2) }, all.slice(2)],
  ])("%s", async (_, model, keep, left) => {
    const to = new Edited(thinkingBase(model));
    const messages = await conversed(to);
    const edit = edits(clearThinking(keep));
    expect(thoughtsIn(await to.shown({ messages, ...edit }))).toEqual(left);
    const { usage, context_management: management } = await to.message({ messages, ...edit });
    const kept = await to.message({ messages, ...edits(clearThinking({ keep: "all" })) });
    const cleared = totalOf(kept.usage) - totalOf(usage);
    expect(management?.applied_edits).toEqual(
      left.length === all.length
        ? []
        : [
            {
              type: "clear_thinking_20251015",
              cleared_thinking_turns: 3 - left.length / 2,
              cleared_input_tokens: cleared,
            },
          ],
    );
    expect(cleared > 0).toBe(left.length < all.length);
  });

  it("of a turn that goes on counts as the newest", async () => {
    const to = new Edited(thinkingBase(free));
    const messages = (await conversed(to)).slice(0, -2);
    expect(thoughtsIn(await to.shown({ messages, ...edits(clearThinking({ keep: turns(1) })) }))).toEqual(["c1"]);
  });

  it("that is redacted is cleared too", async () => {
    const to = new Edited(thinkingBase(free));
    to.says = [{ type: "redacted_thinking", thinking: words("Secret") }, ...to.says];
    const first = [asks("One"), answered(await to.message({ messages: [asks("One")] })), asks("Two")];
    const messages = [...first, answered(await to.message({ messages: first })), asks("Three")];
    const shown = await to.shown({ messages, ...edits(clearThinking({ keep: turns(1) })) });
    const left = shown.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.map(({ type }) => type as string),
    );
    expect(left).toEqual(["text", "redacted_thinking", "text"]);
  });

  it("is cleared before tool uses, whose trigger looks at what is left", async () => {
    const to = new Edited(thinkingBase(free));
    const messages = await conversed(to);
    const [thinking] = (await to.applied({ messages, ...edits(clearThinking({ keep: turns(1) })) })) ?? [];
    const left = totalOf((await to.message({ messages })).usage) - (thinking?.cleared_input_tokens ?? 0);
    const both = (trigger: number) =>
      to.applied({
        messages,
        ...edits(clearThinking({ keep: turns(1) }), clearToolUses({ trigger: tokens(trigger), keep: uses(1) })),
      });
    expect(await both(left)).toEqual([thinking]);
    expect(await both(left - 1)).toEqual([thinking, expect.objectContaining({ cleared_tool_uses: 2 })]);
  });
});

describe("the report", () => {
  const asked = { messages: five, ...edits(clearToolUses(now)) };

  it("is there whenever it was asked for, and else not", async () => {
    const to = new Edited({ model: free });
    expect((await to.message({ messages: five })).context_management).toBeUndefined();
    expect(await to.applied({ messages: five, ...edits() })).toEqual([]);
    expect(await to.applied({ messages: five, ...edits(clearToolUses()) })).toEqual([]);
    expect(await to.applied(asked)).toHaveLength(1);
  });

  it("comes at the end of a stream", async () => {
    const to = new Edited({ model: free });
    const applied = await to.applied(asked);
    const data = (await to.stream(asked)).flatMap((sent) => ("event" in sent ? [sent.event] : []));
    const start = data.find(({ type }) => type === "message_start");
    const delta = data.find(({ type }) => type === "message_delta");
    expect(start).toMatchObject({ message: { context_management: null } });
    expect(delta).toMatchObject({ context_management: { applied_edits: applied } });
    const plain = (await to.stream({ messages: five })).flatMap((sent) => ("event" in sent ? [sent.event] : []));
    expect(JSON.stringify(plain)).not.toContain("context_management");
  });

  it("of a count tells the tokens with and without the edits", async () => {
    const to = new Edited({ model: free });
    const { input_tokens: original, ...nothing } = to.count({ messages: five });
    expect(nothing).toEqual({});
    const { usage } = await to.message(asked);
    expect(to.count(asked)).toEqual({
      input_tokens: totalOf(usage),
      context_management: { original_input_tokens: original },
    });
    expect(to.count({ messages: five, ...edits() })).toEqual({
      input_tokens: original,
      context_management: { original_input_tokens: original },
    });
  });

  it("a count leaves thinking of earlier turns out of both figures", async () => {
    const to = new Edited(thinkingBase(free));
    const messages = await conversed(to);
    const base = { ...thinkingBase(free), messages };
    const { input_tokens: plain } = to.count(base);
    expect(to.count({ ...base, ...edits(clearThinking({ keep: turns(1) })) })).toEqual({
      input_tokens: plain,
      context_management: { original_input_tokens: plain },
    });
  });
});

describe("the cache", () => {
  const marked = (messages: readonly JsonObject[]): JsonObject[] =>
    messages.map((message, at) => {
      const content = message["content"] as JsonObject[];
      const isMarked = at === 0 || at === messages.length - 1;
      return isMarked ? { ...message, content: content.map((one) => ({ ...one, ...marker })) } : message;
    });
  const marker = { cache_control: { type: "ephemeral" } };
  const opening = user(text(longText("The opening")));
  const conversation = [opening, ...five.slice(1)];
  const edit = edits(clearToolUses({ trigger: uses(4), keep: uses(4) }));

  it("is lost behind the first cleared block, and hit again while the same blocks are cleared", async () => {
    const to = new Edited({ model: free });
    const before = await to.message({ messages: marked(conversation.slice(0, -2)), ...edit });
    const upToOpening = to.count({ messages: [opening] }).input_tokens;
    expect(before.context_management).toEqual({ applied_edits: [] });
    const clearing = await to.message({ messages: marked(conversation), ...edit });
    expect(clearing.context_management?.applied_edits).toHaveLength(1);
    expect(clearing.usage.cache_read_input_tokens).toBe(upToOpening);
    const next = [...conversation, says(text("Fine.")), user(text("Go on."))];
    const after = await to.message({ messages: marked(next), ...edit });
    expect(after.context_management).toEqual(clearing.context_management);
    expect(after.usage.cache_read_input_tokens).toBe(totalOf(clearing.usage));
  });

  it("knows all blocks of a request that is edited like the one before it", async () => {
    const to = new Edited({ model: free });
    const both = edits(clearThinking({ keep: turns(1) }), clearToolUses({ ...now, clear_tool_inputs: true }));
    const first = await to.message({ messages: five, ...both });
    const { hashedBlocks } = to.simulator;
    const again = await to.message({ messages: five, ...both });
    expect(again.context_management?.applied_edits).toHaveLength(1);
    expect(again.usage).toEqual(first.usage);
    expect(to.simulator.hashedBlocks).toBe(hashedBlocks);
  });

  it("tells edits of the same messages apart", async () => {
    const to = new Edited({ model: free });
    const keeping = (count: number): JsonObject => edits(clearToolUses({ ...now, keep: uses(count) }));
    const sizes: number[] = [];
    for (const count of [1, 2, 3, 4, 1, 2, 3, 4])
      sizes.push(totalOf((await to.message({ messages: five, ...keeping(count) })).usage));
    expect(sizes.slice(4)).toEqual(sizes.slice(0, 4));
    expect(new Set(sizes).size).toBe(4);
  });

  it("is lost again where one more use is cleared", async () => {
    const to = new Edited({ model: free });
    await to.message({ messages: marked(conversation), ...edit });
    const next = [...conversation, says(call("toolu_5", { name: "Read" })), user(result("toolu_5", words("More")))];
    const { usage } = await to.message({ messages: marked(next), ...edit });
    expect(usage.cache_read_input_tokens).toBe(to.count({ messages: [opening] }).input_tokens);
  });
});

describe("on a model that binds thinking", () => {
  it("thinking stays valid behind what the server cleared, before and after", async () => {
    const to = new Edited(thinkingBase(bound));
    const messages = await conversed(to);
    const edit = edits(clearThinking({ keep: turns(1) }), clearToolUses({ ...now, keep: uses(0) }));
    const reply = await to.message({ messages, ...edit });
    expect(reply.context_management?.applied_edits).toHaveLength(2);
    const next = [...messages, answered(reply), asks("Go on.")];
    await to.message({ messages: next, ...edit });
    await to.message({ messages: next });
  });

  it("the same edit made by the client is refused", async () => {
    const to = new Edited(thinkingBase(bound));
    const messages = await conversed(to);
    const shown = await to.shown({ messages, ...edits(clearToolUses({ ...now, keep: uses(0) })) });
    await expect(to.message({ messages: shown as unknown as Json })).rejects.toThrow(
      "bound to a different conversation",
    );
  });
});

it("a request that is too long is answered where clearing makes it fit", async () => {
  const to = new Edited({ model: older });
  const long = [...five.slice(0, 2), user(result("toolu_0", longText("It").repeat(40))), ...five.slice(3)];
  await expect(to.message({ messages: long })).rejects.toThrow("prompt is too long");
  expect(await to.applied({ messages: long, ...edits(clearToolUses()) })).toHaveLength(1);
});

it("a trace holds what the model was shown under its hash", async () => {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  const to = new Edited({ model: free }, { trace });
  await to.message({ messages: five, ...edits(clearToolUses(now)) });
  const results = lines
    .map((line) => JSON.parse(line) as JsonObject)
    .filter((line) => line["blockType"] === "tool_result");
  expect(results.slice(0, 2)).toMatchObject([
    { value: { tool_use_id: "toolu_0", content: clearedResultText } },
    { value: { tool_use_id: "toolu_1", content: clearedResultText } },
  ]);
  expect(results[2]).toMatchObject({ value: { tool_use_id: "toolu_2", content: words("Result 2") } });
});

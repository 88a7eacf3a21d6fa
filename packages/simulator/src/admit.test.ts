import { describe, expect, it } from "vitest";
import { longText } from "../../../test/fixture/asking.ts";
import { answered, asks, Edited, totalOf } from "../../../test/fixture/edited.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";

const clearAt = { "anthropic-beta": "mid-conversation-system-clear-at-2026-08-21" };
const inline = { "anthropic-beta": "inline-tools-2026-09-15" };
const mark = { cache_control: { type: "ephemeral" } };
const marked = (text: string): Json => [{ type: "text", text, ...mark }];

const reminder: JsonObject = {
  role: "system",
  content: `Only now: ${longText("be careful")}`,
  clear_at: "next_user_message",
};
const says = (content: Json): JsonObject => ({ role: "assistant", content });

function asked(model = "claude-opus-5", headers: Readonly<Record<string, string>> = clearAt): Edited {
  const edited = new Edited({ model });
  edited.headers = headers;
  return edited;
}

const textOf = (messages: MessagesRequest["messages"]): string => JSON.stringify(messages);

describe("a system message with clear_at: next_user_message", () => {
  it("is shown as long as no user message follows it", async () => {
    const edited = asked();
    const tried = [
      [asks("Go."), reminder],
      [asks("Go."), reminder, reminder],
    ];
    for (const messages of tried) expect(textOf(await edited.shown({ messages }))).toContain("Only now");
  });

  it("is shown no more once the user spoke again, nor counted", async () => {
    const edited = asked();
    const [before, behind] = [[asks("Go.")], [says("Gone."), asks("Further.")]];
    const shown = await edited.shown({ messages: [...before, reminder, ...behind] });
    expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    const { input_tokens: cleared } = edited.count({ messages: [...before, reminder, ...behind] });
    expect(cleared).toBe(edited.count({ messages: [...before, ...behind] }).input_tokens);
    const never = { ...reminder, clear_at: "never" };
    expect(edited.count({ messages: [...before, never, ...behind] }).input_tokens).toBeGreaterThan(cleared);
  });

  it("is shown no more once a call was answered: that is a user message too", async () => {
    const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "Seen." };
    const shown = await asked().shown({ messages: [asks("Go."), reminder, says([call]), asks([result])] });
    expect(textOf(shown)).not.toContain("Only now");
  });

  it("leaves the cached prefix before it as it was", async () => {
    const edited = asked();
    const opening = asks(marked(longText("the question")));
    const first = await edited.message({ messages: [opening, reminder] });
    expect(first.usage.cache_creation_input_tokens).toBeGreaterThan(0);
    const second = await edited.message({ messages: [opening, reminder, says("Gone."), asks("Further.")] });
    expect(second.usage.cache_read_input_tokens).toBe(first.usage.cache_creation_input_tokens);
  });

  it("leaves valid what was thought while it was shown, and after", async () => {
    const edited = asked("claude-opus-5-5");
    edited.says = [
      { type: "thinking", thinking: "I must be careful." },
      { type: "text", text: "Done." },
    ];
    const thinking = { thinking: { type: "adaptive" } };
    const messages: JsonObject[] = [asks("Go."), reminder];
    for (const next of ["Further.", "And further.", "Enough."]) {
      const reply = await edited.message({ messages, ...thinking });
      messages.push(answered(reply), asks(next));
    }
    const { content } = await edited.message({ messages, ...thinking });
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const without = messages.filter((message) => message !== reminder);
    await expect(edited.message({ messages: without, ...thinking })).rejects.toThrow(
      /bound to a different conversation/,
    );
  });

  it("is part of what later thoughts are bound to, also where everything between is known already", async () => {
    const edited = asked("claude-opus-5-5");
    edited.says = [
      { type: "thinking", thinking: "I must be careful." },
      { type: "text", text: "Done." },
    ];
    const thinking = { thinking: { type: "adaptive" } };
    const [opening, plain, further] = [asks("Go."), says("Gone."), asks("Further.")];
    const reply = answered(await edited.message({ messages: [opening, reminder, plain, further], ...thinking }));
    const others = { ...reminder, content: "Only now: be quick." };
    const request = (told: JsonObject): JsonObject => ({
      messages: [opening, told, plain, further, reply, asks("On.")],
      ...thinking,
    });
    await edited.message(request(reminder));
    await expect(edited.message(request(others))).rejects.toThrow(/bound to a different conversation/);
  });

  it("costs the same hidden again, before one that is shown", () => {
    const edited = asked();
    const messages = [asks("Go."), reminder, { ...reminder, clear_at: "never" }, says("Gone."), asks("On.")];
    const first = edited.count({ messages }).input_tokens;
    expect(edited.count({ messages: [...messages.slice(0, 4), asks("On.")] }).input_tokens).toBe(first);
  });

  it("has its tools changed for good: only its text goes", async () => {
    const edited = asked("claude-opus-5", {
      "anthropic-beta": `${clearAt["anthropic-beta"]},${inline["anthropic-beta"]}`,
    });
    const removal = { type: "tool_removal", tool: { type: "tool_reference", name: "look" } };
    const once = { ...reminder, content: [{ type: "text", text: "Only now" }, removal] };
    const request = {
      tools: [{ name: "look", input_schema: { type: "object" } }],
      messages: [asks("Go."), once, says("Gone."), asks("Further.")],
    };
    const shown = await edited.shown(request);
    expect(textOf(shown)).not.toContain("Only now");
    expect(textOf(shown)).toContain("tool_removal");
    expect(edited.tools).toEqual([]);
  });
});

describe("tools that come and go", () => {
  const tool = (name: string, more: JsonObject = {}): JsonObject => ({
    name,
    description: longText(name),
    input_schema: { type: "object" },
    ...more,
  });
  const system = (...content: JsonObject[]): JsonObject => ({ role: "system", content });
  const define = (definition: JsonObject): JsonObject => ({
    type: "tool_addition",
    tool: { type: "tool_definition", definition },
  });
  const add = (name: string): JsonObject => ({ type: "tool_addition", tool: { type: "tool_reference", name } });
  const remove = (name: string): JsonObject => ({ type: "tool_removal", tool: { type: "tool_reference", name } });
  const names = (edited: Edited): readonly unknown[] => edited.tools.map(({ name }) => name);

  it("are offered as they stand at the end of the conversation", async () => {
    const edited = asked("claude-opus-5", inline);
    const tools = [tool("a"), tool("b")];
    const messages = [
      asks("Go."),
      system(remove("a"), define(tool("c"))),
      says("Gone."),
      asks("On."),
      system(add("a")),
    ];
    await edited.message({ tools, messages: messages.slice(0, 2) });
    expect(names(edited)).toEqual(["b", "c"]);
    await edited.message({ tools, messages });
    expect(names(edited)).toEqual(["b", "c", "a"]);
  });

  it("leave everything cached that stands before the change, which another `tools` would not", async () => {
    const request = { tools: [tool("a"), tool("b", mark)], messages: [asks(marked(longText("question")))] };
    const edited = asked("claude-opus-5", inline);
    const { usage } = await edited.message(request);
    const changed = { ...request, messages: [...request.messages, system(define(tool("c")), remove("a"))] };
    const { usage: then } = await edited.message(changed);
    expect(then.cache_read_input_tokens).toBe(usage.cache_creation_input_tokens);
    const { usage: other } = await edited.message({ ...request, tools: [tool("b", mark), tool("c")] });
    expect(other.cache_read_input_tokens).toBe(0);
  });

  it("cost their definition where it is brought in, and a name where it is known", async () => {
    const edited = asked("claude-opus-5", inline);
    const sizeOf = async (tools: readonly JsonObject[], change: JsonObject): Promise<number> =>
      totalOf((await edited.message({ tools: [...tools], messages: [asks("Go."), system(change)] })).usage);
    const inlined = await sizeOf([tool("a")], define(tool("b")));
    const deferred = await sizeOf([tool("a"), tool("b", { defer_loading: true })], add("b"));
    const known = await sizeOf([tool("a")], add("a"));
    expect(Math.abs(deferred - inlined)).toBeLessThan(10);
    expect(inlined - known).toBeGreaterThan(1_000);
  });

  it("mark the block that brings a definition by the definition's own marker", async () => {
    const edited = asked("claude-opus-5", inline);
    const messages = [asks("Go."), system(define(tool("b", mark)))];
    const { usage } = await edited.message({ tools: [tool("a")], messages });
    expect(usage.cache_creation_input_tokens).toBe(totalOf(usage));
    const unmarked = {
      tools: [tool("a")],
      messages: [asks("Go."), system(define(tool("b"))), says("Yes."), asks(marked("On."))],
    };
    expect((await edited.message(unmarked)).usage.cache_read_input_tokens).toBe(usage.cache_creation_input_tokens);
  });
});

it("a request without any of it is rendered as it was sent, whatever betas it names", async () => {
  const plain = new Edited({ model: "claude-opus-5" });
  plain.headers = { "anthropic-beta": `${clearAt["anthropic-beta"]},${inline["anthropic-beta"]}` };
  const messages = [asks("Go."), says("Gone."), asks("Further.")];
  expect(await plain.shown({ messages })).toEqual(messages);
});

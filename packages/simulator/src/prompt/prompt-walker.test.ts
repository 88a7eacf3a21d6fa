import { expect, it } from "vitest";
import { answered, asks, Edited, totalOf } from "../../../../test/fixture/edited.ts";
import { says, text } from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

it("the presence of tools costs the same, whether they are declared, deferred or brought in", () => {
  const to = new Edited({ model: "claude-opus-5" });
  to.headers = { "anthropic-beta": "inline-tools-2026-09-15" };
  const tool = { name: "look", input_schema: { type: "object" } };
  const sizeOf = (request: JsonObject): number => to.count(request).input_tokens;
  const messages = [asks("Go.")];
  const plain = sizeOf({ messages });
  const declared = sizeOf({ messages, tools: [tool] }) - plain;
  const deferred = sizeOf({ messages, tools: [{ ...tool, defer_loading: true }] }) - plain;
  const addition = { type: "tool_addition", tool: { type: "tool_definition", definition: tool } };
  const inline = [...messages, { role: "system", content: [addition] }];
  const brought = sizeOf({ messages: inline }) - plain;
  expect(deferred).toBeGreaterThan(100);
  expect(declared).toBeGreaterThan(deferred);
  expect(Math.abs(brought - declared)).toBeLessThan(10);
  const told = (changes: JsonObject[]): number => {
    to.headers = { "anthropic-beta": "compact-2026-01-12" };
    return sizeOf({ messages: [asks([{ type: "compaction", content: "So far.", tool_changes: changes }])] });
  };
  expect(Math.abs(told([addition]) - told([]) - declared)).toBeLessThan(10);
  to.headers = { "anthropic-beta": "inline-tools-2026-09-15" };
  const beside = sizeOf({ messages: inline, tools: [{ ...tool, name: "other" }] });
  expect(beside - plain - declared).toBeLessThan(deferred);
});

it("a turn costs the same in one message and in several, also where one of them holds thinking alone", async () => {
  const to = new Edited({ model: "claude-opus-5", thinking: { type: "adaptive" } });
  to.says = [
    { type: "thinking", thinking: "Both are to be named." },
    { type: "text", text: "First." },
  ];
  const opening = asks("Name two.");
  const reply = answered(await to.message({ messages: [opening] }));
  const [thought, first] = reply["content"] as JsonObject[];
  const sizeOf = async (...messages: JsonObject[]): Promise<number> =>
    totalOf((await to.message({ messages: [opening, ...messages, asks("Go on.")] })).usage);
  const start = [thought, first].filter((block) => block !== undefined);
  const split = start.map((block) => says(block));
  const whole = (last: string): Promise<number> => sizeOf(says(...start, text(last)));
  expect(await sizeOf(...split, says(text("Second.")))).toBe(await whole("Second."));
  // The beginning is known by now, the end is not.
  expect(await sizeOf(...split, says(text("Another.")))).toBe(await whole("Another."));
});

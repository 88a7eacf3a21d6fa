import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MessageReader } from "./message-reader.ts";
import { parseMessageByProvider } from "./parse-messages.ts";

/** A reader of the Messages API's format, and how many texts it has hashed. */
function counting() {
  let hashed = 0;
  const hash = (text: string): string => {
    hashed += 1;
    return createHash("sha256").update(text).digest("hex");
  };
  const reader = new MessageReader({ hash }, parseMessageByProvider.anthropic);
  return { reader, taken: (): number => hashed };
}

const list = (rounds: number): { role: string; content: object[] }[] =>
  Array.from({ length: rounds }, (_, nth) => [
    { role: "assistant", content: [{ type: "tool_use", id: `t${nth}`, name: "read", input: { nth } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `t${nth}`, content: `result ${nth}` }] },
  ]).flat();

const digests = (reader: MessageReader, messages: readonly object[]): readonly string[] =>
  reader.items(messages).map(({ digest }) => digest);

describe("MessageReader", () => {
  it("hashes only what is new: of a list that grew the new messages, of the same list nothing", () => {
    const { reader, taken } = counting();
    const messages = list(100);
    reader.items(messages);
    expect(taken()).toBe(200);
    reader.items(messages);
    expect(taken()).toBe(200);
    reader.items([...messages, { role: "user", content: "more" }]);
    expect(taken()).toBe(201);
  });

  it("notices what the caller changes in place", () => {
    const { reader, taken } = counting();
    const messages = list(3);
    const before = digests(reader, messages);
    messages[3]?.content.splice(0, 1, { type: "tool_result", tool_use_id: "t1", content: "[cleared]" });
    const after = digests(reader, messages);
    expect(taken()).toBe(7);
    expect(after.map((digest, at) => digest === before[at])).toEqual([true, true, true, false, true, true]);
  });

  it("tells results apart by the call that they answer, not by its id", () => {
    const { reader } = counting();
    const call = (id: string): object => ({ type: "tool_use", id, name: "read", input: {} });
    const answer = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: "same" });
    const answered = (calls: readonly string[], id: string): string | undefined =>
      digests(reader, [
        { role: "assistant", content: calls.map(call) },
        { role: "user", content: [answer(id)] },
      ]).at(-1);
    expect(answered(["a", "b"], "a")).toBe(answered(["x", "y"], "x"));
    expect(answered(["a", "b"], "a")).not.toBe(answered(["a", "b"], "b"));
    expect(answered(["a", "b"], "gone")).not.toBe(answered(["a", "b"], "b"));
  });

  it("keeps thinking with what follows it, also in the next message", () => {
    const { reader } = counting();
    const thinking = { type: "thinking", thinking: "hm", signature: "s" };
    const items = reader.items([
      { role: "assistant", content: [thinking] },
      { role: "assistant", content: [thinking, { type: "text", text: "Done." }] },
    ]);
    expect(items).toMatchObject([{ block: { text: "Done." }, thinking: [thinking, thinking], message: 1 }]);
  });
});

import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageDigester } from "./message-digester.ts";
import { MessageReader } from "./message-reader.ts";
import { parseMessageByProvider } from "./parse-messages.ts";

/** A reader of the Messages API's format, and how many texts it has hashed. */
function counting() {
  let hashed = 0;
  const hash = (text: string): string => {
    hashed += 1;
    return createHash("sha256").update(text).digest("hex");
  };
  const reader = new MessageReader(new MessageDigester({ hash }, parseMessageByProvider.anthropic));
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

  it("hashes nothing of a list that was parsed anew and says the same", () => {
    const { reader, taken } = counting();
    const messages = list(100);
    const before = digests(reader, messages);
    expect(digests(reader, structuredClone(messages))).toEqual(before);
    expect(taken()).toBe(200);
  });

  it("does not even read messages that are said to be unchanged", () => {
    const { reader, taken } = counting();
    const messages = list(3);
    const before = digests(reader, messages);
    const unread = [{}, {}, {}, {}, ...messages.slice(4), { role: "user", content: "more" }];
    const after = reader.items(unread, 4).map(({ digest }) => digest);
    expect(after.slice(0, -1)).toEqual(before);
    expect(taken()).toBe(7);
    expect(reader.items(unread, 4).at(-1)).toMatchObject({ message: 6, block: { text: "more" } });
  });

  it.each([7, 8, -1, 1.5, Number.NaN])(
    "reads the whole list if %s of its 6 messages are said to be unchanged",
    (at) => {
      const { reader } = counting();
      reader.items(list(3));
      const others = list(4).slice(2);
      expect(reader.items(others, at)).toEqual(counting().reader.items(others));
    },
  );

  it("tells an empty object before a field from an object that holds the field", () => {
    const { reader } = counting();
    const call = { type: "tool_use", id: "t1", name: "read", input: {} };
    const before = digests(reader, [{ role: "assistant", content: [{ ...call, nth: 1 }] }]);
    expect(digests(reader, [{ role: "assistant", content: [{ ...call, input: { nth: 1 } }] }])).not.toEqual(before);
  });

  it("finds the same in a list whatever list was read before it", () => {
    const call = (id: string): object => ({ type: "tool_use", id, name: "read", input: {} });
    const answer = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: "done" });
    const messages = fc.constantFrom(
      { role: "assistant", content: [call("a")] },
      { role: "assistant", content: [call("b"), call("a")] },
      { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] },
      { role: "user", content: [answer("a"), answer("b")] },
      { role: "user", content: "Go on." },
    );
    fc.assert(
      fc.property(fc.array(fc.array(messages, { maxLength: 6 }), { maxLength: 6 }), (lists) => {
        const { reader } = counting();
        for (const one of lists) expect(reader.items(one)).toEqual(counting().reader.items(one));
      }),
    );
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

import { describe, expect, it } from "vitest";
import { imagePart } from "../../../test/fixture/image.ts";
import type { Breakpoint } from "palimpsest/internal/cache/breakpoint";
import { type Message, parseBlock } from "palimpsest/internal/schema/block";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { RequestCheck } from "./request-check.ts";

const model = findModel("claude-sonnet-4-5");
if (model === undefined) throw new Error("the registry has lost it");

const asks: Message = { role: "user", content: [{ type: "text", text: "hello" }] };
const calls: Message = {
  role: "assistant",
  content: [{ type: "tool_use", id: toolUseId("t1"), name: "Read", input: {} }],
};
const answers: Message = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: toolUseId("t1"), content: "text" }],
};
const redacted = parseBlock(imagePart({ data: Buffer.from("REDACTED ".repeat(20)).toString("base64") }));
const mark = (message: number): Breakpoint => ({ place: { part: "messages", message, at: 0 }, lifetime: "5m" });
const refusal = (messages: readonly Message[], breakpoints: readonly Breakpoint[] = []): string | undefined =>
  new RequestCheck(model).refusal({ messages, chainAt: String, breakpoints, outputTokensMax: 100 });

describe("whether the API takes a request", () => {
  it.each<[string, readonly Message[], readonly Breakpoint[]]>([
    ["a conversation", [asks], []],
    ["a result behind its call", [asks, calls, answers], [mark(0), mark(2)]],
    ["an image that was redacted, which is left out", [{ role: "user", content: [redacted] }], [mark(0)]],
    [
      "thinking that another signed",
      [
        asks,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "so", signature: "another's" },
            { type: "text", text: "yes" },
          ],
        },
        asks,
      ],
      [],
    ],
  ])("takes %s", (_, messages, breakpoints) => {
    expect(refusal(messages, breakpoints)).toBeUndefined();
  });

  it.each<[string, readonly Message[], readonly Breakpoint[], RegExp]>([
    ["a call without its result", [asks, calls, asks], [], /tool_use/],
    [
      "a result without its call",
      [asks, { role: "assistant", content: [{ type: "text", text: "a" }] }, answers],
      [],
      /tool_/,
    ],
    ["more marks than four", [asks, calls, answers, calls, answers], [0, 1, 2, 3, 4].map(mark), /./],
    ["nothing", [], [], /./],
  ])("refuses %s", (_, messages, breakpoints, why) => {
    expect(refusal(messages, breakpoints)).toMatch(why);
  });

  it("does not read a message again that it knows", () => {
    let reads = 0;
    const watched: Message = {
      role: "user",
      get content() {
        reads += 1;
        return asks.content;
      },
    };
    const check = new RequestCheck(model);
    check.refusal({ messages: [watched], chainAt: () => "1", breakpoints: [], outputTokensMax: 100 });
    const once = reads;
    check.refusal({ messages: [watched], chainAt: () => "2", breakpoints: [], outputTokensMax: 100 });
    expect(reads).toBe(once);
  });

  it("looks at marks also where it has taken the same messages before, with others", () => {
    const check = new RequestCheck(model);
    const says: Message = { role: "assistant", content: [{ type: "text", text: "yes" }] };
    const known = { messages: [asks, says, asks, says, asks], chainAt: String, outputTokensMax: 100 };
    expect(check.refusal({ ...known, breakpoints: [mark(0), mark(4)] })).toBeUndefined();
    expect(check.refusal({ ...known, breakpoints: [0, 1, 2, 3, 4].map(mark) })).toMatch(/./);
  });

  it("looks at what a request adds to one that was taken, and at all of it where that one is another", () => {
    const check = new RequestCheck(model);
    const ask = (messages: readonly Message[], name = "run") =>
      check.refusal({ messages, chainAt: (at) => `${name} ${at}`, breakpoints: [], outputTokensMax: 100 });
    expect(ask([asks, calls, answers])).toBeUndefined();
    const again = { ...calls, content: [{ type: "tool_use", id: toolUseId("t2"), name: "Read", input: {} }] } as const;
    expect(ask([asks, calls, answers, again, asks])).toMatch(/tool_use/);
    expect(ask([asks, again, asks, calls, answers], "edited")).toMatch(/tool_use/);
  });

  it("looks behind an edit at what comes from there on", () => {
    const check = new RequestCheck(model);
    const names = new Map<Message, string>();
    const ask = (messages: readonly Message[]) =>
      check.refusal({
        messages,
        chainAt: (at) =>
          messages
            .slice(0, at + 1)
            .map((message) => names.get(message) ?? names.set(message, String(names.size)).get(message))
            .join(" "),
        breakpoints: [],
        outputTokensMax: 100,
      });
    const says: Message = { role: "assistant", content: [{ type: "text", text: "yes" }] };
    const other: Message = { role: "user", content: [{ type: "text", text: "otherwise" }] };
    expect(ask([asks, calls, answers, says, asks])).toBeUndefined();
    expect(ask([asks, calls, answers, says, other])).toBeUndefined();
    expect(ask([asks, calls, other, says, asks])).toMatch(/tool_use/);
    expect(ask([asks, calls, answers, calls, asks])).toMatch(/tool_use/);
  });
});

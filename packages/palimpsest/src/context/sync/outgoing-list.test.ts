import { describe, expect, it } from "vitest";
import type { Message } from "../../schema/block.ts";
import { entryId } from "../../schema/brand.ts";
import type { SyncItem } from "./message-reader.ts";
import { outgoingList } from "./outgoing-list.ts";

const textBlock = (text: string) => ({ type: "text", text }) as const;

const textItem = (text: string, message: number): SyncItem => ({
  role: "user",
  block: textBlock(text),
  thinking: [],
  digest: text,
  message,
  call: undefined,
});

/** Each item: its text, the index of its message, its entry. The view shows a summary as one text. */
function outgoing(
  listed: readonly (readonly [string, number, string])[],
  shown: readonly (readonly [string, string])[],
): unknown {
  const messages: readonly Message[] = [{ role: "user", content: shown.map(([text]) => textBlock(text)) }];
  const sent = outgoingList({
    messages,
    breakpoints: [],
    sources: [shown.map(([, entry]) => entryId(entry))],
    items: listed.map(([text, message]) => textItem(text, message)),
    entries: listed.map(([, , entry]) => entryId(entry)),
    length: (listed.at(-1)?.[1] ?? -1) + 1,
    isSame: (block, item) => block.type === "text" && block.text === item.digest,
    isSummary: (entry) => entry === "s",
    withoutThinking: new Set(),
  });
  return sent?.map((message) =>
    message.kind === "given"
      ? message.at
      : message.message.content.map((block) => (block.type === "text" ? block.text : block.type)),
  );
}

describe("outgoingList", () => {
  const summary = ["one\n\ntwo", "s"] as const;

  it("sends every message of a summary that the caller wrote in several", () => {
    const listed = [
      ["one", 0, "s"],
      ["two", 1, "s"],
      ["kept", 2, "k"],
    ] as const;
    expect(outgoing(listed, [summary, ["kept", "k"]])).toEqual([0, 1, 2]);
    expect(
      outgoing(listed, [
        ["another summary", "o"],
        ["kept", "k"],
      ]),
    ).toEqual([["another summary"], 2]);
  });

  it("sends a message that ends a summary and goes on once, and writes all of it anew if what goes on has changed", () => {
    const listed = [
      ["one", 0, "s"],
      ["two", 1, "s"],
      ["kept", 1, "k"],
      ["later", 2, "l"],
    ] as const;
    expect(outgoing(listed, [summary, ["kept", "k"], ["later", "l"]])).toEqual([0, 1, 2]);
    expect(outgoing(listed, [summary, ["cleared", "k"], ["later", "l"]])).toEqual([["one\n\ntwo"], ["cleared"], 2]);
  });

  it("takes a list of 150,000 messages, one of them empty", () => {
    const count = 150_000;
    const listed = Array.from({ length: count }, (_, at) => [`t${at}`, at + 1, `e${at}`] as const);
    expect(outgoing(listed, [[`t${count - 1}`, `e${count - 1}`]])).toEqual([count]);
  });
});

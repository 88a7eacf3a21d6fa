import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, Message } from "../../schema/block.ts";
import { type EntryId, entryId, toolUseId } from "../../schema/brand.ts";
import type { SyncItem } from "./message-reader.ts";
import { outgoingList } from "./outgoing-list.ts";
import { OutgoingLists } from "./outgoing-lists.ts";

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
    isWithoutThinking: () => false,
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

describe("OutgoingLists", () => {
  /** A message of the list: how each of its items is shown. `hidden` stands for a call that the caller never saw. */
  const shownAs = fc.constantFrom("same", "cleared", "gone", "thought", "hidden-before", "hidden-behind");
  const message = fc.record({ role: fc.constantFrom("user", "assistant"), items: fc.array(shownAs, { maxLength: 3 }) });
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("grow"), message }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("change"), at: fc.nat(30), message }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("summary"), until: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("mark"), group: fc.nat(10) }) },
  );

  it("finds what the whole list and view give, however they change between two lists", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const world = new ListWorld();
        const lists = new OutgoingLists();
        for (const one of steps) {
          world.take(one);
          const input = world.input();
          expect(lists.next(input)).toEqual(outgoingList(input));
        }
      }),
    );
  });

  it("gives the same objects for what did not change", () => {
    const world = new ListWorld();
    const lists = new OutgoingLists();
    for (let at = 0; at < 10; at += 1)
      world.take({
        kind: "grow",
        message: { role: at % 2 === 0 ? "user" : "assistant", items: [at === 4 ? "cleared" : "same"] },
      });
    const before = lists.next(world.input());
    world.take({ kind: "grow", message: { role: "user", items: ["same"] } });
    const after = lists.next(world.input());
    expect(after?.length).toBe(11);
    expect(after?.slice(0, 9).map((one, at) => one === before?.[at])).toEqual(Array.from({ length: 9 }, () => true));
  });
});

interface ListedMessage {
  readonly role: Message["role"];
  readonly items: readonly string[];
}

type WorldStep =
  | { readonly kind: "grow"; readonly message: ListedMessage }
  | { readonly kind: "change"; readonly at: number; readonly message: ListedMessage }
  | { readonly kind: "summary"; readonly until: number }
  | { readonly kind: "mark"; readonly group: number };

/** A caller's list and its view, whose unchanged parts stay the same objects. */
class ListWorld {
  readonly #list: ListedMessage[] = [];
  readonly #messages = new Map<string, Message>();
  readonly #items = new Map<string, SyncItem>();
  #summaryUntil = 0;
  #mark: number | undefined;

  take(step: WorldStep): void {
    if (step.kind === "grow") this.#list.push(step.message);
    else if (step.kind === "change") this.#list.splice(step.at, this.#list.length, step.message);
    else if (step.kind === "summary") this.#summaryUntil = Math.min(step.until, this.#list.length);
    else this.#mark = step.group;
  }

  input(): Parameters<typeof outgoingList>[0] {
    const items: SyncItem[] = [];
    const entries: EntryId[] = [];
    const blocks: { readonly role: Message["role"]; readonly block: Block; readonly entry: string }[] = [];
    if (this.#summaryUntil > 0) blocks.push({ role: "user", block: textBlock("summary"), entry: "summary" });
    this.#list.forEach(({ role, items: shown }, at) => {
      shown.forEach((as, nth) => {
        const text = `${at}.${nth}.${role}`;
        items.push(this.#item(text, { role, message: at }));
        entries.push(entryId(text));
        if (at < this.#summaryUntil || as === "gone") return;
        if (as === "hidden-before") blocks.push({ role, block: hiddenCall(text), entry: `h${text}` });
        if (as === "thought")
          blocks.push({ role, block: { type: "thinking", thinking: text, signature: "s" }, entry: `t${text}` });
        blocks.push({ role, block: textBlock(as === "cleared" ? `cleared ${text}` : text), entry: text });
        if (as === "hidden-behind") blocks.push({ role, block: hiddenCall(text), entry: `h${text}` });
      });
    });
    const groups: { role: Message["role"]; content: Block[]; sources: EntryId[] }[] = [];
    for (const { role, block, entry } of blocks) {
      if (groups.at(-1)?.role !== role) groups.push({ role, content: [], sources: [] });
      groups.at(-1)?.content.push(block);
      groups.at(-1)?.sources.push(entryId(entry));
    }
    const mark = this.#mark === undefined ? undefined : Math.min(this.#mark, groups.length - 1);
    return {
      messages: groups.map(({ role, content }, at) => this.#message(at, { role, content })),
      breakpoints:
        mark === undefined || mark < 0 ? [] : [{ place: { part: "messages", message: mark, at: 0 }, lifetime: "5m" }],
      sources: groups.map(({ sources }) => sources),
      items,
      entries,
      length: this.#list.length,
      isSame: (block, item) => block.type === "text" && block.text === item.digest,
      isSummary: () => false,
      isWithoutThinking: () => false,
    };
  }

  #item(text: string, { role, message }: { readonly role: Message["role"]; readonly message: number }): SyncItem {
    const known = this.#items.get(text) ?? { ...textItem(text, message), role };
    this.#items.set(text, known);
    return known;
  }

  #message(at: number, message: Message): Message {
    const key = `${at} ${JSON.stringify(message)}`;
    const known = this.#messages.get(key) ?? message;
    this.#messages.set(key, known);
    return known;
  }
}

const hiddenCall = (text: string): Block => ({
  type: "tool_use",
  id: toolUseId(`call ${text}`),
  name: "recall",
  input: {},
});

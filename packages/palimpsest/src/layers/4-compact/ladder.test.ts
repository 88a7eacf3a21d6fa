import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, Message } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { estimateShown } from "../../tokens/estimate-block.ts";
import { violations } from "../../transcript/violations.ts";
import { dropOldest, droppedLine, groupsByRound, tokensOver, toPlainMessages } from "./plain-request.ts";

const says = (role: Message["role"], text: string): Message => ({ role, content: [{ type: "text", text }] });
const count = (message: Message): number => estimateShown([message.content]);
const ten = (): number => 10;

/** `u0`, then rounds of a reply and the user's next words. */
const talk = (rounds: number): readonly Message[] => [
  says("user", "u0"),
  ...Array.from({ length: rounds }, (_, at) => [says("assistant", `a${at + 1}`), says("user", `u${at + 1}`)]).flat(),
];

const textsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : block.type)));

describe("rounds that are dropped", () => {
  it.each<[string, number, number | "unknown", number]>([
    ["one at least, where the gap is small", 9, 1, 1],
    ["as many as cover the gap", 9, 30, 2],
    ["one more where it is not quite covered", 9, 31, 3],
    ["all but one, where the gap is wide", 9, 10_000, 9],
    ["a fifth, where nobody knows the gap", 9, "unknown", 2],
    ["one at least, where a fifth is none", 2, "unknown", 1],
  ])("%s", (_, rounds, overTokens, groups) => {
    const dropped = dropOldest({ messages: talk(rounds), overTokens, count: ten });
    expect(dropped).toMatchObject({ kind: "dropped", groups });
  });

  it("are the oldest, and a line of ours stands in front", () => {
    const dropped = dropOldest({ messages: talk(3), overTokens: 20, count: ten });
    expect(dropped.kind === "dropped" && textsOf(dropped.messages)).toEqual([droppedLine, "a2", "u2", "a3", "u3"]);
  });

  it("leave that line once, however often it is tried", () => {
    const once = dropOldest({ messages: talk(4), overTokens: 1, count: ten });
    const twice = once.kind === "dropped" ? dropOldest({ messages: once.messages, overTokens: 1, count: ten }) : once;
    expect(twice.kind === "dropped" && textsOf(twice.messages)).toEqual([
      droppedLine,
      "a2",
      "u2",
      "a3",
      "u3",
      "a4",
      "u4",
    ]);
  });

  it("are none where one is all there is", () => {
    for (const messages of [[], talk(0), [says("user", droppedLine), says("assistant", "a"), says("user", "u")]])
      expect(dropOldest({ messages, overTokens: "unknown", count: ten })).toEqual({ kind: "nothing-left" });
  });
});

it.each([
  ["both are named", { limitTokens: 200_000, usedTokens: 213_462 }, 13_462],
  ["the window alone", { limitTokens: 200_000 }, "unknown"],
  ["nothing", {}, "unknown"],
  ["what contradicts itself", { limitTokens: 200_000, usedTokens: 100 }, "unknown"],
] as const)("the gap where a refusal names %s", (_, said, gap) => {
  expect(tokensOver(said)).toBe(gap);
});

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } } as const;
const document = { type: "document", source: { type: "text", data: "x" } } as const;
const thinking = { type: "thinking", thinking: "hm", signature: "s" } as const;
const redacted = { type: "redacted_thinking", data: "x" } as const;

describe("the plain call's input", () => {
  it("says images and documents in words, also inside results", () => {
    const result: Block = {
      type: "tool_result",
      tool_use_id: toolUseId("t"),
      content: [{ ...image }, { type: "text", text: "b" }, { ...document }],
    };
    const [shown] = toPlainMessages([{ role: "user", content: [result, image, document] }]);
    expect(shown?.content).toEqual([
      {
        ...result,
        content: [
          { type: "text", text: "[image]" },
          { type: "text", text: "b" },
          { type: "text", text: "[document]" },
        ],
      },
      { type: "text", text: "[image]" },
      { type: "text", text: "[document]" },
    ]);
  });

  it("has no thinking, and joins what a reply of nothing else parted", () => {
    const shown = toPlainMessages([
      says("user", "a"),
      { role: "assistant", content: [thinking, redacted] },
      says("user", "b"),
    ]);
    expect(shown).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ]);
  });

  it("leaves what is plain as it is", () => {
    const messages = talk(2);
    for (const [at, message] of toPlainMessages(messages).entries()) expect(message).toBe(messages[at]);
  });
});

/** Requests that the API takes: rounds with calls, results, thinking and pictures, and words of the user in between. */
const round = fc.record({
  calls: fc.integer({ min: 0, max: 3 }),
  thinks: fc.boolean(),
  speaks: fc.boolean(),
  shows: fc.boolean(),
  text: fc.string({ minLength: 1, maxLength: 200 }).filter((text) => text.trim() !== ""),
});
const request = fc.array(round, { maxLength: 12 }).map((rounds): readonly Message[] => {
  let serial = 0;
  const messages: Message[] = [says("user", "start")];
  for (const { calls, thinks, speaks, shows, text } of rounds) {
    const ids = Array.from({ length: calls }, () => toolUseId(`t${(serial += 1)}`));
    const called = ids.map((id): Block => ({ type: "tool_use", id, name: "read", input: {} }));
    const words: readonly Block[] = speaks || calls === 0 ? [{ type: "text", text }] : [];
    messages.push(
      { role: "assistant", content: [...(thinks ? [thinking] : []), ...words, ...called] },
      {
        role: "user",
        content: [
          ...ids.map((id): Block => ({ type: "tool_result", tool_use_id: id, content: shows ? [{ ...image }] : text })),
          ...(calls === 0 ? [{ type: "text", text } as const] : []),
        ],
      },
    );
  }
  return messages;
});

describe("laws", () => {
  const gap = fc.oneof(fc.constant("unknown" as const), fc.integer({ min: 0, max: 2_000 }));

  it("what is left is a valid request, shorter, with the last group whole; the gap is covered unless one group is left", () => {
    fc.assert(
      fc.property(request, gap, (messages, overTokens) => {
        const dropped = dropOldest({ messages, overTokens, count });
        const groups = groupsByRound(messages);
        expect(groups.flat()).toEqual(messages);
        expect(dropped.kind).toBe(groups.length < 2 ? "nothing-left" : "dropped");
        if (dropped.kind !== "dropped") return;
        expect(violations(dropped.messages)).toEqual([]);
        expect(dropped.groups).toBeGreaterThanOrEqual(1);
        expect(dropped.messages.slice(1)).toEqual(groups.slice(dropped.groups).flat());
        expect(dropped.messages.length).toBeGreaterThan(1);
        const gone = groups
          .slice(0, dropped.groups)
          .flat()
          .reduce((sum, message) => sum + count(message), 0);
        if (overTokens !== "unknown" && dropped.groups < groups.length - 1)
          expect(gone).toBeGreaterThanOrEqual(overTokens);
      }),
    );
  });

  it("tries end, each with a valid request, and none is empty", () => {
    fc.assert(
      fc.property(request, (messages) => {
        let left = toPlainMessages(messages);
        for (let tries = 0; tries < 20; tries += 1) {
          expect(violations(left)).toEqual([]);
          expect(left.length).toBeGreaterThan(0);
          const dropped = dropOldest({ messages: left, overTokens: "unknown", count });
          if (dropped.kind === "nothing-left") return;
          left = dropped.messages;
        }
        expect.fail("it never ends");
      }),
    );
  });

  it("plain input is valid, without thinking and pictures, and a second time the same", () => {
    fc.assert(
      fc.property(request, (messages) => {
        const plain = toPlainMessages(messages);
        expect(violations(plain)).toEqual([]);
        expect(JSON.stringify(plain)).not.toMatch(/"type":"(?:thinking|image)"/);
        for (const [at, message] of toPlainMessages(plain).entries()) expect(message).toBe(plain[at]);
      }),
    );
  });
});

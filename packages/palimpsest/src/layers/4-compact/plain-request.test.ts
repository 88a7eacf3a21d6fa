import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, Message } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { estimateShown } from "../../tokens/estimate-block.ts";
import { violations } from "../../transcript/violations.ts";
import { plainRequest, sumTokens } from "./plain-request.ts";

const count = (message: Message): number => estimateShown([message.content]);
const prompt = "Write the summary of all this.";
const text = (words: string): Block => ({ type: "text", text: words });
const call = (id: string, input: Readonly<Record<string, string>> = {}): Block => ({
  type: "tool_use",
  id: toolUseId(id),
  name: "run",
  input,
});
const result = (id: string, content: string): Block => ({ type: "tool_result", tool_use_id: toolUseId(id), content });
const user = (...content: readonly Block[]): Message => ({ role: "user", content });
const assistant = (...content: readonly Block[]): Message => ({ role: "assistant", content });

const lastBlock = (messages: readonly Message[]): Block | undefined => messages.at(-1)?.content.at(-1);
const textIn = (messages: readonly Message[]): string =>
  messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : ""))).join("\n");

const fitted = (messages: readonly Message[], tokensMax: number) => {
  const request = plainRequest({ messages, prompt, tokensMax, count });
  if (request.kind !== "fits") throw new Error("it does not fit");
  return request;
};

describe("the request of the plain call", () => {
  it("is everything with what is asked as its last block", () => {
    const said = user(text("Hello."));
    expect(fitted([said], 1_000)).toEqual({
      kind: "fits",
      messages: [user(text("Hello."), text(prompt))],
      droppedGroups: 0,
      text: "whole",
    });
    const replied = fitted([said, assistant(text("Hi."))], 1_000).messages;
    expect(replied).toEqual([said, assistant(text("Hi.")), user(text(prompt))]);
    expect(replied[0]).toBe(said);
  });

  it("begins with the user where the part to be summarised does not", () => {
    const { messages } = fitted([assistant(call("a")), user(result("a", "done"))], 1_000);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(violations(messages)).toEqual([]);
  });

  const huge = "0123456789 words and words\n".repeat(40_000);
  const hugeTurns: readonly (readonly [string, readonly Message[], readonly string[]])[] = [
    ["a huge paste", [user(text(`BEGIN ${huge} END`))], ["BEGIN", "END"]],
    [
      "a huge result",
      [user(text("Go.")), assistant(call("toolu_a")), user(result("toolu_a", `BEGIN ${huge} END`))],
      ["BEGIN", "END", "toolu_a"],
    ],
    [
      "a huge input",
      [
        user(text("Go.")),
        assistant(call("toolu_a", { content: `BEGIN ${huge} END` })),
        user(result("toolu_a", "written")),
      ],
      ["BEGIN", "END", "toolu_a", "written"],
    ],
    [
      "one reply with hundreds of calls",
      [
        user(text("Go.")),
        assistant(...Array.from({ length: 600 }, (_, at) => call(`toolu_${at}`, { path: `src/${at}.ts` }))),
        user(...Array.from({ length: 600 }, (_, at) => result(`toolu_${at}`, `contents of ${at} `.repeat(50)))),
      ],
      ["toolu_0", "toolu_599"],
    ],
    ["characters of four bytes", [user(text("😀".repeat(200_000)))], ["😀"]],
  ];

  it.each(hugeTurns)("fits a small window with both ends of %s", (_, messages, kept) => {
    const request = fitted(messages, 5_000);
    expect(request.text).toBe("shortened");
    expect(sumTokens(request.messages, count)).toBeLessThanOrEqual(5_000);
    expect(sumTokens(request.messages, count)).toBeGreaterThan(4_000);
    expect(lastBlock(request.messages)).toEqual(text(prompt));
    expect(violations(request.messages)).toEqual([]);
    const told = textIn(request.messages);
    for (const word of kept) expect(told).toContain(word);
    expect(told).toMatch(/characters of .+ are left out/);
    expect(told.isWellFormed()).toBe(true);
  });

  it("has no room where what is asked is too long by itself", () => {
    expect(plainRequest({ messages: [user(text("Hi."))], prompt, tokensMax: 5, count })).toEqual({ kind: "no-room" });
  });

  const words = fc.string({ maxLength: 3_000, unit: "grapheme" }).map((said) => `x${said}`);
  const round = fc
    .tuple(words, fc.array(words, { maxLength: 4 }))
    .chain(([said, results]) => fc.nat().map((at) => ({ said, results, at })));
  const conversation = fc
    .array(round, { maxLength: 12 })
    .map((rounds) => [
      user(text("Begin.")),
      ...rounds.flatMap(({ said, results }, nth) => [
        assistant(text(said), ...results.map((_, at) => call(`c${nth}_${at}`))),
        user(...results.map((content, at) => result(`c${nth}_${at}`, content)), text("next")),
      ]),
    ]);

  it("always fits, is valid and ends with what is asked", () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 60, max: 4_000 }), (messages, tokensMax) => {
        const request = plainRequest({ messages, prompt, tokensMax, count });
        if (request.kind === "no-room") return tokensMax < 150;
        return (
          sumTokens(request.messages, count) <= tokensMax &&
          violations(request.messages).length === 0 &&
          lastBlock(request.messages)?.type === "text" &&
          textIn(request.messages).endsWith(prompt)
        );
      }),
    );
  });
});

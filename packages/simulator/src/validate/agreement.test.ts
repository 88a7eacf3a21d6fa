import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parametersFor } from "../../../../test/property/runs.ts";
import { judged, models } from "../../../../test/fixture/wire-request.ts";
import type { Block, Message } from "palimpsest/internal/schema/block";
import { toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { violations, type WireRule } from "palimpsest/internal/transcript/violations";
import type { Refusal } from "../refusal.ts";

/** The engine checks its own requests before it sends them; the simulator must not think otherwise. */

interface Round {
  readonly userTexts: readonly string[];
  readonly thinks: boolean;
  readonly words: string | undefined;
  readonly calls: number;
  readonly remark: string | undefined;
}

const words = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `w${text}`);
const maybe = fc.option(words, { nil: undefined });
const round: fc.Arbitrary<Round> = fc.record({
  userTexts: fc.array(words, { minLength: 1, maxLength: 2 }),
  thinks: fc.boolean(),
  words: maybe,
  calls: fc.nat(3),
  remark: maybe,
});

const text = (said: string): Block => ({ type: "text", text: said });

/** Valid by construction: each round is a reply with its results or, without calls, words that the user answers. */
function conversation(rounds: readonly Round[]): Message[] {
  const messages: Message[] = [{ role: "user", content: [text("begin")] }];
  for (const [at, { userTexts, thinks, words, calls, remark }] of rounds.entries()) {
    const ids = Array.from({ length: calls }, (_, n) => toolUseId(`toolu_${at}_${n}`));
    const thinking: Block[] = thinks ? [{ type: "thinking", thinking: "hm", signature: "s" }] : [];
    const said = words === undefined && calls > 0 ? [] : [text(words ?? "so")];
    messages.push({
      role: "assistant",
      content: [...thinking, ...said, ...ids.map((id): Block => ({ type: "tool_use", id, name: "Read", input: {} }))],
    });
    const results = ids.map((id): Block => ({ type: "tool_result", tool_use_id: id, content: "done" }));
    const after = calls === 0 ? userTexts : remark === undefined ? [] : [remark];
    messages.push({ role: "user", content: [...results, ...after.map(text)] });
  }
  return messages;
}

const refused = (messages: readonly Message[]): Refusal | undefined =>
  judged({ messages: messages as unknown as readonly JsonObject[] }, { model: models.new });

/** One change to one place; `at` chooses among all places where it can be made. Undefined where there is none. */
type Mutation = (messages: readonly Message[], at: number) => readonly Message[] | undefined;

const inBlock =
  (fits: (block: Block) => boolean, change: (block: Block) => readonly Block[]): Mutation =>
  (messages, at) => {
    const places = messages.flatMap((message, index) =>
      message.content.flatMap((block, place) => (fits(block) ? [{ index, place }] : [])),
    );
    const chosen = places[at % Math.max(1, places.length)];
    if (chosen === undefined) return undefined;
    return messages.map((message, index) =>
      index === chosen.index
        ? {
            ...message,
            content: message.content.flatMap((block, place) => (place === chosen.place ? change(block) : [block])),
          }
        : message,
    );
  };

const isOf =
  (type: Block["type"]) =>
  (block: Block): boolean =>
    block.type === type;

/** In a message that begins with such a block. */
const inMessage =
  (fits: (block: Block) => boolean, change: (content: [Block, ...Block[]]) => readonly Block[]): Mutation =>
  (messages, at) => {
    const places = messages.flatMap(({ content: [first] }, index) =>
      first !== undefined && fits(first) ? [index] : [],
    );
    const chosen = places[at % Math.max(1, places.length)];
    return chosen === undefined
      ? undefined
      : messages.map((message, index) => {
          const [first, ...rest] = message.content;
          return index === chosen && first !== undefined ? { ...message, content: change([first, ...rest]) } : message;
        });
  };

const mutations: Readonly<Record<string, Mutation>> = {
  "a dropped result": inBlock(isOf("tool_result"), () => []),
  "a dropped call": inBlock(isOf("tool_use"), () => []),
  "a doubled result": inBlock(isOf("tool_result"), (block) => [block, block]),
  "a doubled call": inBlock(isOf("tool_use"), (block) => [block, block]),
  "an emptied text": inBlock(isOf("text"), () => [text("")]),
  "a blank text": inBlock(isOf("text"), () => [text(" \n")]),
  "an id of the wrong form": inBlock(isOf("tool_use"), (block) =>
    block.type === "tool_use" ? [{ ...block, id: toolUseId("a:b") }] : [block],
  ),
  "thinking at the end": inMessage(isOf("thinking"), ([first, ...rest]) => [...rest, first]),
  "a result behind text": inMessage(isOf("tool_result"), ([first, ...rest]) => [...rest, text("well"), first]),
  "emptied content": (messages, at) =>
    messages.map((message, index) => (index === at % messages.length ? { ...message, content: [] } : message)),
  "swapped roles": (messages, at) =>
    messages.map((message, index) =>
      index === at % messages.length ? { ...message, role: message.role === "user" ? "assistant" : "user" } : message,
    ),
  "swapped messages": (messages, at) => {
    const index = at % messages.length;
    const [one, other] = messages.slice(index, index + 2);
    return one === undefined || other === undefined ? undefined : messages.toSpliced(index, 2, other, one);
  },
  "a message less": (messages, at) => (messages.length < 2 ? undefined : messages.toSpliced(at % messages.length, 1)),
};

/** Where the engine holds itself to more than the API asks: that takes an empty result, and judges signatures later. */
const stricter: ReadonlySet<WireRule> = new Set(["result-not-empty", "thinking-signed", "thinking-first"]);

/** What the API makes of messages of one role in a row, and the engine never sends. */
function combined(messages: readonly Message[]): readonly Message[] {
  const turns: { role: Message["role"]; content: Block[] }[] = [];
  for (const { role, content } of messages) {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content: [...content] });
  }
  return turns;
}

describe("the engine's check and the simulator's", () => {
  const rounds = fc.array(round, { minLength: 1, maxLength: 6 });

  it("agree that a conversation is valid", () => {
    fc.assert(
      fc.property(rounds, (rounds) => {
        const messages = conversation(rounds);
        expect(violations(messages)).toEqual([]);
        expect(refused(messages)).toBeUndefined();
      }),
      parametersFor({ quick: 200, long: 20_000 }),
    );
  });

  it.each(Object.entries(mutations))("agree about %s", (_what, mutate) => {
    let violated = 0;
    fc.assert(
      fc.property(rounds, fc.nat(), (rounds, at) => {
        const messages = mutate(conversation(rounds), at);
        if (messages === undefined) return;
        const rules = violations(combined(messages)).map(({ rule }) => rule);
        if (rules.length === 0) expect(refused(messages)).toBeUndefined();
        if (rules.every((rule) => stricter.has(rule))) return;
        violated += 1;
        expect(refused(messages), rules.join(", ")).toMatchObject({ status: 400, type: "invalid_request_error" });
      }),
      parametersFor({ quick: 200, long: 20_000 }),
    );
    expect(violated).toBeGreaterThan(0);
  });

  it("differ about messages of one role in a row, which the API combines", () => {
    const messages = conversation([{ userTexts: ["a"], thinks: false, words: "b", calls: 0, remark: undefined }]);
    const doubled = [...messages, { role: "user" as const, content: [text("c")] }];
    expect(violations(doubled).map(({ rule }) => rule)).toEqual(["roles-alternate"]);
    expect(refused(doubled)).toBeUndefined();
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MadeBlock, madePrompt } from "../../../../test/fixture/made-prompt.ts";
import type { Block, Message, TextBlock } from "../schema/block.ts";
import { millis, toolUseId } from "../schema/brand.ts";
import { PromptCache } from "./prompt-cache.ts";
import { type Breakpoint, type BreakpointInput, type MessagePlace, planBreakpoints } from "./breakpoint.ts";
import type { Lifetime } from "./lifetime.ts";
import { WrittenPlaces } from "./written-places.ts";

const text = (words: string): TextBlock => ({ type: "text", text: words });
const thinking: Block = { type: "thinking", thinking: "Hm.", signature: "s" };
const messagesOf = (...counts: readonly number[]): readonly Message[] =>
  counts.map((count, message) => ({
    role: message % 2 === 0 ? "user" : "assistant",
    content: Array.from({ length: count }, (_, at) => text(`${message}.${at}`)),
  }));
const place = (message: number, at: number): MessagePlace => ({ part: "messages", message, at });

const plan = (input: Partial<BreakpointInput>): readonly string[] =>
  planBreakpoints({
    tools: [{ name: "Read" }, { name: "Edit" }],
    system: [text("Rules."), text("Facts.")],
    messages: messagesOf(1),
    written: [],
    lifetimes: { fixed: "5m", rolling: "5m" },
    ...input,
  }).map(nameOf);

const nameOf = ({ place: at, lifetime }: Breakpoint): string =>
  `${at.part === "messages" ? `${at.message}.${at.at}` : `${at.part} ${at.at}`}${lifetime === "1h" ? " 1h" : ""}`;

describe("where a request is marked", () => {
  it.each<[string, Partial<BreakpointInput>, readonly string[]]>([
    ["last tool, last system block, newest block", {}, ["tools 1", "system 1", "0.0"]],
    ["without a system prompt the last tool stands for both", { system: [] }, ["tools 1", "0.0"]],
    ["without tools", { tools: [] }, ["system 1", "0.0"]],
    [
      "not a tool that is not in the prefix",
      { tools: [{ name: "Read" }, { name: "Web", defer_loading: true }] },
      ["tools 0", "system 1", "0.0"],
    ],
    ["no empty system text", { system: [text("Rules."), text("")] }, ["tools 1", "system 0", "0.0"]],
    [
      "neither thinking nor empty text",
      { messages: [...messagesOf(2), { role: "assistant", content: [text("Yes"), text(""), thinking] }] },
      ["tools 1", "system 1", "1.0"],
    ],
    [
      "what is in sight of the newest block needs no mark of its own",
      { messages: messagesOf(1, 18, 1), written: [place(0, 0)] },
      ["tools 1", "system 1", "2.0"],
    ],
    [
      "what was written last where it is out of sight, and a place between for which the tools make room",
      { messages: messagesOf(1, 19, 1), written: [place(0, 0)] },
      ["system 1", "0.0", "1.0", "2.0"],
    ],
    [
      "the frontier, for which the tools need not make room",
      { messages: messagesOf(1, 8, 1), written: [place(0, 0)], frontier: place(1, 2) },
      ["tools 1", "system 1", "1.2", "2.0"],
    ],
    [
      "the frontier rather than a place between, and behind what was written last",
      { messages: messagesOf(2, 19, 1), written: [place(0, 1)], frontier: place(0, 0) },
      ["system 1", "0.0", "0.1", "2.0"],
    ],
    [
      "a frontier that is marked already, or behind the newest block, or no block, once or not at all",
      { messages: messagesOf(1, 2, 1), frontier: place(2, 0) },
      ["tools 1", "system 1", "2.0"],
    ],
    ["no frontier that is not there", { frontier: place(7, 0) }, ["tools 1", "system 1", "0.0"]],
    [
      "no frontier on thinking",
      { messages: [{ role: "user", content: [thinking, text("a")] }], frontier: place(0, 0) },
      ["tools 1", "system 1", "0.1"],
    ],
    [
      "the place between is in sight of the newest block",
      { messages: messagesOf(1, 59, 1), written: [place(0, 0)] },
      ["system 1", "0.0", "1.40", "2.0"],
    ],
    [
      "of what was written, the last",
      { messages: messagesOf(1, 40, 1), written: [place(0, 0), place(1, 5), place(1, 3)] },
      ["system 1", "1.5", "1.21", "2.0"],
    ],
    [
      "with nothing known to be written, places further back",
      { messages: messagesOf(1, 58, 1), tools: [], system: [] },
      ["1.1", "1.20", "1.39", "2.0"],
    ],
    ["nothing where there is nothing", { tools: [], system: [], messages: [] }, []],
    ["1h before 5m", { lifetimes: { fixed: "1h", rolling: "5m" } }, ["tools 1 1h", "system 1 1h", "0.0"]],
    [
      "the fixed part lives at least as long as what rolls",
      { lifetimes: { fixed: "5m", rolling: "1h" } },
      ["tools 1 1h", "system 1 1h", "0.0 1h"],
    ],
  ])("%s", (_, input, places) => expect(plan(input)).toEqual(places));
});

/** A round: what the model says, then its results. */
const round = fc.record({
  said: fc.array(fc.constantFrom("text", "thinking", "call"), { minLength: 1, maxLength: 30 }),
  results: fc.integer({ min: 1, max: 30 }),
  minutes: fc.double({ min: 0, max: 4.9, noNaN: true }),
});

interface Sending {
  readonly messages: readonly Message[];
  readonly breakpoints: readonly Breakpoint[];
}

/** The request as the provider sees it: 2 tools, 2 system blocks, then the blocks of the messages. */
function promptOf({ messages, breakpoints }: Sending) {
  const lifetimes = new Map<string, Lifetime>(breakpoints.map((one) => [nameOf(one).replace(" 1h", ""), one.lifetime]));
  const fixed: MadeBlock[] = ["tools 0", "tools 1", "system 0", "system 1"].map((name) => ({
    name,
    level: name.startsWith("tools") ? "tools" : "system",
    breakpoint: lifetimes.get(name),
  }));
  const said = messages.flatMap(({ content }, message) =>
    content.map((block, at): MadeBlock => ({
      name: JSON.stringify(block),
      breakpoint: lifetimes.get(`${message}.${at}`),
    })),
  );
  return madePrompt([...fixed, ...said]);
}

const saidBlock = (kind: string, name: string): Block => {
  if (kind === "thinking") return { type: "thinking", thinking: name, signature: name };
  return kind === "call" ? { type: "tool_use", id: toolUseId(name), name: "Read", input: {} } : text(name);
};

describe("the law of the breakpoints", () => {
  it("every request reads all that the one before it sent, however long the round, as long as it lives", () => {
    const rounds = fc.array(round, { minLength: 1, maxLength: 12 });
    const lifetimes = fc.constantFrom<BreakpointInput["lifetimes"]>(
      { fixed: "5m", rolling: "5m" },
      { fixed: "1h", rolling: "5m" },
      { fixed: "1h", rolling: "1h" },
    );
    fc.assert(
      fc.property(rounds, lifetimes, (made, lived) => {
        const cache = new PromptCache();
        const written = new WrittenPlaces();
        const fixed = { tools: [{ name: "a" }, { name: "b" }], system: [text("a"), text("b")], lifetimes: lived };
        const messages = [...messagesOf(1)];
        let now = 0;
        let sentTokens = 0;
        for (const { said, results, minutes } of [{ said: [], results: 0, minutes: 0 }, ...made]) {
          const number = messages.length;
          if (said.length > 0)
            messages.push(
              { role: "assistant", content: said.map((kind, at) => saidBlock(kind, `${number}.${at}`)) },
              { role: "user", content: Array.from({ length: results }, (_, at) => text(`${number} result ${at}`)) },
            );
          now += minutes * 60_000;
          const breakpoints = planBreakpoints({ ...fixed, messages, written: written.places(messages) });
          const prompt = promptOf({ messages, breakpoints });
          const look = cache.look({ prompt, at: millis(now), minimumTokens: 0 });
          cache.commit(look);
          written.recordWrites(messages, breakpoints);
          expect(breakpoints.length).toBeLessThanOrEqual(4);
          expect(look.usage.cacheReadTokens).toBe(sentTokens);
          expect(look.usage.inputTokens).toBe(0);
          sentTokens = prompt.tokens;
        }
      }),
    );
  });
});

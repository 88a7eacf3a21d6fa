import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, Message, TextBlock } from "../schema/block.ts";
import {
  type Breakpoint,
  type BreakpointInput,
  planBreakpoints,
  placeBreakpoints,
  type BreakpointStrategy,
} from "./breakpoint.ts";
import { breakpointsMax } from "./limits.ts";

const text = (words: string): TextBlock => ({ type: "text", text: words });
const thinking: Block = { type: "thinking", thinking: "Hm.", signature: "s" };
const message = (...content: readonly Block[]): Message => ({ role: "user", content });

const input = (given: Partial<BreakpointInput> = {}): BreakpointInput => ({
  tools: [{ name: "Read" }, { name: "Edit" }],
  system: [text("Rules."), text("Facts."), text("More.")],
  messages: [message(text("a")), message(text("b"), text("c")), message(text("d"), thinking)],
  written: [],
  lifetimes: { fixed: "5m", rolling: "5m" },
  ...given,
});

const nameOf = ({ place, lifetime }: Breakpoint): string =>
  `${place.part === "messages" ? `${place.message}.${place.at}` : `${place.part} ${place.at}`}${lifetime === "1h" ? " 1h" : ""}`;

describe("marks that stand at the same places always", () => {
  it.each<[BreakpointStrategy, string, Partial<BreakpointInput>, readonly string[]]>([
    ["system-and-last", "the system's end and the newest block", {}, ["system 2", "2.0"]],
    ["system-and-last", "not empty text", { system: [text("Rules."), text("")] }, ["system 0", "2.0"]],
    [
      "system-and-last",
      "a message without a block that can be marked is passed by",
      { messages: [message(text("a")), message(thinking)] },
      ["system 2", "0.0"],
    ],
    ["system-and-last", "nothing where there is nothing", { system: [], messages: [] }, []],
    ["two-system-and-last-two", "two of the system and two messages", {}, ["system 0", "system 1", "1.1", "2.0"]],
    [
      "two-system-and-last-two",
      "fewer where there are fewer",
      { system: [text("Rules.")], messages: [message(text("a"))] },
      ["system 0", "0.0"],
    ],
    ["tools-system-and-rolling", "the end of each part", {}, ["tools 1", "system 2", "2.0"]],
    [
      "tools-system-and-rolling",
      "no tool that is not in the prefix",
      { tools: [{ name: "Read" }, { name: "Web", defer_loading: true }] },
      ["tools 0", "system 2", "2.0"],
    ],
    [
      "tools-system-and-rolling",
      "the fixed part may live longer",
      { lifetimes: { fixed: "1h", rolling: "5m" } },
      ["tools 1 1h", "system 2 1h", "2.0"],
    ],
    [
      "tools-system-and-rolling",
      "and never shorter",
      { lifetimes: { fixed: "5m", rolling: "1h" } },
      ["tools 1 1h", "system 2 1h", "2.0 1h"],
    ],
  ])("%s: %s", (name, _, given, expected) => {
    expect(placeBreakpoints(name, input(given)).map(nameOf)).toEqual(expected);
  });

  it("planned ones are those of the plan", () => {
    expect(placeBreakpoints("planned", input())).toEqual(planBreakpoints(input()));
  });

  it("are never more than the API takes, and in the order of the request", () => {
    const names: readonly BreakpointStrategy[] = [
      "system-and-last",
      "two-system-and-last-two",
      "tools-system-and-rolling",
    ];
    const block = fc.constantFrom<Block>(text("a"), text(""), thinking);
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.constantFrom(text("a"), text("")), { maxLength: 5 }),
        fc.array(fc.array(block, { maxLength: 3 }), { maxLength: 6 }),
        (name, system, contents) => {
          const places = placeBreakpoints(
            name,
            input({ system, messages: contents.map((content) => message(...content)) }),
          );
          expect(places.length).toBeLessThanOrEqual(breakpointsMax);
          const order = places.map(({ place }) =>
            place.part === "messages"
              ? 1_000 + place.message * 10 + place.at
              : (place.part === "tools" ? 0 : 100) + place.at,
          );
          expect(order).toEqual([...new Set(order)].toSorted((one, other) => one - other));
        },
      ),
    );
  });
});

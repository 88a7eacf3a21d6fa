import { setCapabilityOverrides, visibleWidth } from "@earendil-works/pi-tui";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { entryId, millis, toolUseId } from "palimpsest/internal/schema/brand";
import type { CallState, ChatItem } from "../state/chat-item.ts";
import { type Colours, createTheme } from "../theme.ts";
import { drawCallDetail } from "./draw-call.ts";
import { drawItem } from "./draw-functions.ts";
import { drawPhase, drawQueue } from "./draw-status.ts";

afterAll(() => setCapabilityOverrides({}));

/** What no text of others may do, and what is hard to measure. */
const awkward = fc.constantFrom(
  "漢字かな",
  "한국어",
  "👩‍👩‍👧‍👦",
  "👍🏽",
  "🇩🇪",
  "e\u0301\u0302\u0303",
  "\u0915\u094D\u200D\u0937",
  "สำ",
  "\t",
  "\r",
  "\r\n",
  "\n",
  "\n\n",
  "\u0007",
  "\u0000",
  "\u009B31m",
  "\u001B[31mred\u001B[0m",
  "\u001B[2J\u001B[H",
  "\u001B]0;title\u0007",
  "\u001B]8;;http://example.org\u001B\\link\u001B]8;;\u001B\\",
  "\u001B_Gf=100;AAAA\u001B\\",
  "\u001B[",
  "\u202Eesrever\u202C",
  "\u200B\u200D\uFEFF",
  "\u2028",
  "\u3164",
  "\uD83D",
  "\uFFFD",
  "x".repeat(150),
  "字".repeat(70),
  "`code` **bold** [text](http://example.org/a_(b)) <b>html</b> &#27;[31m",
  "```ts\nconst a = 1;\n",
  "| a | b |\n|---|---|\n| 漢字漢字漢字漢字漢字漢字 | long words in a cell of a table |\n",
  "- a\n  - b\n    - c\n      - d\n        - e\n",
  "> > > quote\n",
  "$HOME \\[x\\] \\(y\\)",
);
const text = fc
  .array(fc.oneof(awkward, fc.string({ unit: "binary", maxLength: 20 }), fc.lorem({ maxCount: 5 })), { maxLength: 12 })
  .map((parts) => parts.join(" "));

const call = { kind: "call", id: 1, call: toolUseId("toolu_1") } as const;
const callState = fc.constantFrom<CallState>("running", "asking", "done", "failed", "denied", "interrupted");

const item: fc.Arbitrary<ChatItem> = fc.oneof(
  text.map((words): ChatItem => ({ kind: "user", id: 1, text: words, when: "first" })),
  text.map((words): ChatItem => ({ kind: "text", id: 1, text: words, state: "whole" })),
  fc
    .tuple(text, fc.constantFrom("streaming" as const, "whole" as const))
    .map(([words, state]): ChatItem => ({ kind: "thinking", id: 1, text: words, state })),
  fc
    .tuple(text, text, text, callState)
    .map(([tool, title, summary, state]): ChatItem => ({ ...call, tool, title, summary, state })),
  fc.tuple(text, text, fc.option(text, { nil: undefined }), callState).map(([path, after, before, state]): ChatItem => {
    const change = { path, before, after };
    return { ...call, tool: "edit", title: path, summary: "", state, change };
  }),
  fc.tuple(text, text).map(([line, because]): ChatItem => ({ kind: "edit", id: 1, line, because, entries: [] })),
  text.map((line): ChatItem => ({
    kind: "compacted",
    id: 1,
    line,
    covers: { from: 0, to: 1 },
    entries: [entryId("e")],
  })),
  text.map((message): ChatItem => ({
    kind: "retry",
    id: 1,
    attempt: 2,
    message,
    until: millis(9_000),
    state: "waiting",
  })),
  fc
    .tuple(text, fc.constantFrom("plain" as const, "warning" as const, "error" as const))
    .map(([words, tone]): ChatItem => ({ kind: "notice", id: 1, tone, text: words })),
  fc.array(text, { maxLength: 5 }).map((lines): ChatItem => ({ kind: "output", id: 1, lines })),
);

/** Sequences of ours: how text looks. */
// oxlint-disable-next-line no-control-regex -- what is looked for is a control character
const ours = /\u001B\[[\d;]*m/gu;

function expectDrawn(lines: readonly string[], { width, colours }: { width: number; colours: Colours }): void {
  for (const line of lines) {
    expect(visibleWidth(line), JSON.stringify(line)).toBeLessThanOrEqual(width);
    const bare = colours === "none" ? line : line.replaceAll(ours, "");
    expect(bare).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\uFEFF\u200B]/u);
    expect(bare.isWellFormed()).toBe(true);
  }
}

const room = fc.record({
  width: fc.integer({ min: 20, max: 130 }),
  colours: fc.constantFrom<Colours>("none", "ansi"),
  hyperlinks: fc.boolean(),
});

describe("whatever others say, no line is wider than the terminal, and none drives it", () => {
  test("items", () => {
    const fold = fc.constantFrom("folded" as const, "unfolded" as const);
    fc.assert(
      fc.property(item, room, fold, (shown, { width, colours, hyperlinks }, fold) => {
        setCapabilityOverrides({ hyperlinks });
        const lines = drawItem(shown, { width, theme: createTheme(colours), fold, now: millis(0) });
        expectDrawn(lines, { width, colours });
      }),
      { numRuns: 1_000 },
    );
  });

  test("the whole of a call", () => {
    fc.assert(
      fc.property(text, text, room, (input, result, { width, colours, hyperlinks }) => {
        setCapabilityOverrides({ hyperlinks, images: null });
        const item = { ...call, tool: "bash", title: input, summary: "", state: "done" } as const;
        const image = { type: "image", source: { type: "base64", media_type: result, data: input } };
        const detail = {
          call: item,
          input: { command: input, [input]: [result] },
          result: [{ type: "text", text: result }, image],
        };
        expectDrawn(drawCallDetail(detail, { width, theme: createTheme(colours) }), { width, colours });
      }),
      { numRuns: 300 },
    );
  });

  test("what waits and what goes on", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), room, (texts, { width, colours }) => {
        const theme = createTheme(colours);
        expectDrawn(drawQueue(texts, { width, theme }), { width, colours });
        const time = { now: millis(65_000), since: millis(0) };
        expectDrawn(drawPhase({ kind: "calling", tools: texts }, { width, theme, ...time }), { width, colours });
      }),
      { numRuns: 300 },
    );
  });
});

test("what a running call does stands below it, and goes when it ends", () => {
  const call = {
    kind: "call",
    id: 1,
    call: toolUseId("a"),
    tool: "agent",
    title: "explore: find the parser",
    summary: "",
    progress: "Reading parse.ts\u001B[2J",
  } as const;
  const look = { width: 60, theme: createTheme("none"), fold: "folded", now: millis(0) } as const;
  expect(drawItem({ ...call, state: "running" }, look).join("\n")).toMatch(
    /^○ agent explore: find the parser\n {2}└ Reading parse\.ts\S*$/,
  );
  expect(drawItem({ ...call, state: "interrupted" }, look).join("\n")).not.toContain("Reading");
});

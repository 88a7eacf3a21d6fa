import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import { messageCharsMax, messageLinesMax, foldedDiffLinesMax } from "../limits.ts";
import { type CallItem, type CallState, type ChatItem, isFoldable } from "../state/chat-item.ts";
import { createTheme } from "../theme.ts";
import { drawCallDetail } from "./draw-call.ts";
import { drawItem, type DrawItemOptions } from "./draw-functions.ts";
import { stripColours } from "./sanitize-text.ts";

const none = createTheme("none");
const ansi = createTheme("ansi");
const folded: DrawItemOptions = { width: 40, theme: none, fold: "folded", now: millis(1_000) };
const unfolded: DrawItemOptions = { ...folded, fold: "unfolded" };

beforeAll(() => setCapabilityOverrides({ hyperlinks: false, images: null }));

const call: CallItem = {
  kind: "call",
  id: 1,
  call: toolUseId("toolu_1"),
  tool: "read",
  title: "src/a.ts",
  state: "done",
  summary: "120 lines",
};
const lines = (count: number): string => Array.from({ length: count }, (_, line) => `line ${line}\n`).join("");

describe("without colour an item is told by its mark", () => {
  test.each<[string, ChatItem, readonly string[]]>([
    ["user", { kind: "user", id: 1, text: "fix it\nplease", when: "first" }, ["> fix it", "  please"]],
    ["text", { kind: "text", id: 1, text: "Run `a`, **now**: $HOME", state: "whole" }, ["Run `a`, now: $HOME"]],
    ["thinking", { kind: "thinking", id: 1, text: "**First**\nthen", state: "whole" }, ["✻ First"]],
    ["thinking now", { kind: "thinking", id: 1, text: "First\nthen", state: "streaming" }, ["✻ then"]],
    [
      "edit",
      { kind: "edit", id: 1, line: "Cleared 3 results.", because: "stale", entries: [] },
      ["◦ Cleared 3 results."],
    ],
    ["notice", { kind: "notice", id: 1, tone: "plain", text: "Told." }, ["· Told."]],
    ["warning", { kind: "notice", id: 1, tone: "warning", text: "Mind." }, ["! Mind."]],
    ["error", { kind: "notice", id: 1, tone: "error", text: "Broken." }, ["✗ Broken."]],
    [
      "output",
      { kind: "output", id: 1, lines: ["\u001B[31ma\u001B[39m", "b".repeat(50)] },
      ["a", `${"b".repeat(39)}…`],
    ],
    [
      "compacted",
      { kind: "compacted", id: 1, line: "Compacted: 9 → 1 tokens.", covers: { from: 0, to: 1 }, entries: [] },
      ["◆ Compacted: 9 → 1 tokens."],
    ],
  ])("%s", (_, item, drawn) => {
    expect(drawItem(item, folded)).toEqual(drawn);
  });
});

describe("a link", () => {
  test.each([
    ["[https://good.example](https://evil.example/x)", "https://good.example (https://evil.example/x)"],
    ["[docs](file:///etc/passwd)", "docs (file:///etc/passwd)"],
    ["[run](javascript:alert)", "run (javascript:alert)"],
    ["https://good.example/a", "https://good.example/a"],
  ])("%s says where it leads, also where the terminal has links", (text, drawn) => {
    setCapabilityOverrides({ hyperlinks: true, images: null });
    onTestFinished(() => setCapabilityOverrides({ hyperlinks: false, images: null }));
    const lines = drawItem(
      { kind: "text", id: 1, text, state: "whole" },
      { ...folded, width: 80, theme: createTheme("ansi") },
    );
    expect(lines.join("\n")).not.toContain("\u001B]8;");
    expect(stripColours(lines.join("\n"))).toBe(drawn);
  });
});

describe("a long message", () => {
  const message = (text: string): ChatItem => ({ kind: "user", id: 1, text, when: "first" });

  test("is folded behind its first lines, and unfolds whole", () => {
    const item = message(lines(500));
    const drawn = drawItem(item, folded);
    expect(drawn).toHaveLength(messageLinesMax + 1);
    expect(drawn[0]).toBe("> line 0");
    expect(drawn.at(-1)).toBe("  … 480 more lines: Ctrl-O shows them");
    expect(drawItem(item, unfolded).join("\n")).toContain("line 499");
    expect(isFoldable(item)).toBe(true);
  });

  test("of one line is folded by its characters", () => {
    const drawn = drawItem(message("x".repeat(messageCharsMax + 300)), folded);
    expect(drawn.at(-1)).toBe("  … 300 more characters: Ctrl-O shows t…");
    expect(drawn.length).toBeLessThan(messageCharsMax / 30);
  });

  test.each([lines(messageLinesMax), lines(messageLinesMax).trimEnd(), "x".repeat(messageCharsMax), ""])(
    "begins only beyond the limit: %#",
    (text) => {
      expect(isFoldable(message(text))).toBe(false);
      expect(drawItem(message(text), folded).join("\n")).not.toContain("more");
    },
  );
});

describe("a path", () => {
  const cwd = "/proj/shop";
  test.each<[string, Partial<CallItem>, readonly string[]]>([
    [
      "below the working folder is named from there",
      { title: "/proj/shop/src/a.ts" },
      ["● read src/a.ts", "  └ 120 lines"],
    ],
    ["elsewhere stays whole", { title: "/proj/shopping/a.ts" }, ["● read /proj/shopping/a.ts", "  └ 120 lines"]],
    ["that leads out again stays whole", { title: "/proj/shop/../a" }, ["● read /proj/shop/../a", "  └ 120 lines"]],
    [
      "in a command stays as it runs",
      { tool: "bash", title: "cat /proj/shop/a", summary: "a" },
      ["● bash cat /proj/shop/a", "  └ a"],
    ],
    ["in a result is named from there", { summary: "no /proj/shop/b.ts" }, ["● read src/a.ts", "  └ no b.ts"]],
  ])("%s", (_, over, drawn) => {
    expect(drawItem({ ...call, ...over }, { ...folded, cwd })).toEqual(drawn);
  });

  test("of a changed file is told once", () => {
    const [path, change] = ["/proj/shop/a.ts", { path: "/proj/shop/a.ts", before: "a", after: "b" }];
    const edit: CallItem = { ...call, tool: "edit", title: path, change, summary: `Changed ${path}.` };
    expect(drawItem(edit, { ...folded, cwd }).slice(0, 2)).toEqual(["● edit a.ts +1 -1", "  └ Changed."]);
  });
});

test("an edit unfolds into its arithmetic", () => {
  const item: ChatItem = { kind: "edit", id: 1, line: "Cleared 3 results.", because: "rent 12 > price 9", entries: [] };
  expect(drawItem(item, unfolded)).toEqual(["◦ Cleared 3 results.", "    rent 12 > price 9"]);
});

test("saved memories unfold into their paths, what they say, and how to take them back", () => {
  const item: ChatItem = {
    kind: "memories",
    id: 1,
    line: "Saved 1 memory: Linter.",
    revision: "r5",
    memories: [
      { path: "lint.md", name: "Linter", description: "Run it first.", change: "saved" },
      { path: "old.md", name: "Old", description: "", change: "deleted" },
    ],
  };
  expect(drawItem(item, { ...folded, width: 80 })).toEqual(["◇ Saved 1 memory: Linter. Ctrl-R takes this back."]);
  const [, lint, old, ...how] = drawItem(item, { ...unfolded, width: 80 });
  expect([lint, old]).toEqual(["    lint.md: Run it first.", "    old.md (deleted)"]);
  expect(how.join(" ").replaceAll(/\s+/g, " ")).toContain("`palimpsest memory revert r5` at any time.");
});

test("a retry keeps the seconds that are left, however much the provider says", () => {
  const retry = { kind: "retry", id: 1, attempt: 2, message: "busy ".repeat(200), until: millis(6_000) } as const;
  expect(drawItem({ ...retry, state: "waiting" }, folded).join(" ")).toMatch(/… Asking\s+again in 5 s \(try 2\)\.$/);
});

describe("a call", () => {
  test("is two lines, cut where the terminal ends", () => {
    expect(drawItem(call, folded)).toEqual(["● read src/a.ts", "  └ 120 lines"]);
    const long = { ...call, title: "x".repeat(50), summary: "y\n".repeat(50) };
    expect(drawItem(long, folded)).toEqual([`● read ${"x".repeat(32)}…`, `  └ ${"y ".repeat(17)}y…`]);
  });

  test.each<[CallState, readonly string[]]>([
    ["running", ["○ read src/a.ts"]],
    ["asking", ["? read src/a.ts", "  └ waits for your answer"]],
    ["failed", ["✗ read src/a.ts", "  └ failed"]],
    ["denied", ["⊘ read src/a.ts", "  └ denied"]],
    ["interrupted", ["■ read src/a.ts", "  └ interrupted"]],
  ])("%s has a mark of its own", (state, drawn) => {
    expect(drawItem({ ...call, state, summary: "" }, folded)).toEqual(drawn);
  });

  const edit: CallItem = {
    ...call,
    tool: "edit",
    summary: "replaced",
    change: { path: "src/a.ts", before: "a\nold\nb", after: "a\nnew\nb" },
  };
  test("that edits shows its diff, without numbers, as it does not say where, and none while it is asked about", () => {
    expect(drawItem(edit, folded)).toEqual([
      "● edit src/a.ts +1 -1",
      "  └ replaced",
      "      a",
      "    - old",
      "    + new",
      "      b",
    ]);
    expect(drawItem({ ...edit, state: "asking" }, folded)).toEqual(["? edit src/a.ts +1 -1", "  └ replaced"]);
  });

  test.each([
    ["", "  └ denied"],
    ["use the other file", "  └ denied: use the other file"],
  ])("that was denied shows no change, but what the user said: %j", (summary, outcome) => {
    expect(drawItem({ ...edit, state: "denied", summary }, folded)).toEqual(["⊘ edit src/a.ts", outcome]);
  });

  test("that writes much says how much more there is, and unfolds into all of it", () => {
    const change = { path: "src/a.ts", before: undefined, after: lines(30) };
    const write: CallItem = { ...edit, tool: "write", change };
    const drawn = drawItem(write, folded);
    expect(drawn).toHaveLength(3 + foldedDiffLinesMax);
    expect(drawn[2]).toBe("     1 + line 0");
    expect(drawn.at(-1)).toBe(`    … ${30 - foldedDiffLinesMax} more lines`);
    expect(drawItem(write, unfolded).at(-1)).toBe("    30 + line 29");
  });

  test("in colour, what is added and what is removed are of two colours", () => {
    const drawn = drawItem(edit, { ...folded, theme: ansi });
    expect(drawn[3]).toContain(ansi.removed("old"));
    expect(drawn[4]).toContain(ansi.added("new"));
  });
});

describe("the whole of a call", () => {
  const room = { width: 40, theme: none };
  const png = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

  test("has each field and the whole result, colours left out", () => {
    const result = "\u001B[32mok\u001B[0m\nall of it\n";
    expect(drawCallDetail({ call, input: { file_path: "src/a.ts", limit: 3 }, result }, room)).toEqual([
      "● read src/a.ts",
      "    file_path: src/a.ts",
      "    limit: 3",
      "  └ ok",
      "    all of it",
    ]);
  });

  test("shows an image where the terminal can, and names it elsewhere", () => {
    const detail = { call, input: {}, result: [png] };
    expect(drawCallDetail(detail, room).at(-1)).toBe("  └ [image image/png]");
    setCapabilityOverrides({ hyperlinks: false, images: "kitty" });
    expect(drawCallDetail(detail, { ...room, theme: ansi }).join("")).toContain("\u001B_G");
    expect(drawCallDetail(detail, room).join("")).not.toContain("\u001B");
  });

  test("an image that is no base64 ends no sequence of ours", () => {
    setCapabilityOverrides({ hyperlinks: false, images: "kitty" });
    const forged = { ...png, source: { ...png.source, data: "AAAA\u001B\\\u001B]0;x\u0007" } };
    expect(drawCallDetail({ call, input: {}, result: [forged] }, { ...room, theme: ansi }).join("")).not.toContain(
      "\u001B_",
    );
  });
});

import { describe, expect, it } from "vitest";
import { call, entryOf, type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { tokens } from "palimpsest/internal/schema/brand";
import { contextReport, fixedCategory } from "palimpsest/internal/tokens/context-report";
import { type FixedPart, noFixedPart } from "palimpsest/internal/tokens/fixed-part";
import { TokenLedger } from "palimpsest/internal/tokens/token-ledger";
import { palimpsest } from "palimpsest/internal/policy/palimpsest";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { Fold } from "palimpsest/internal/transcript/fold";
import { contextText, headroomText } from "./context-text.ts";

interface Given {
  readonly part?: FixedPart;
  readonly usage?: object;
  readonly window?: number;
  readonly windowSource?: string;
  /** Stand before the question. */
  readonly before?: readonly Raw[];
  readonly reduction?: "clear" | "compact" | "none";
}

function shown(columns: number, given: Given = {}): string {
  const {
    part = noFixedPart,
    usage,
    window = 200_000,
    windowSource = "registry",
    before = [],
    reduction = "clear",
  } = given;
  const ledger = new TokenLedger();
  ledger.carries(part);
  // Another tool's log may lack most of what was counted.
  const fold = new Fold({ watch: ledger, origin: "foreign" });
  const raws = [
    ...before,
    user("u", "go ".repeat(3000)),
    says("a", "m", text("ok"), call("x")),
    result("r", "x", "out\n".repeat(4000)),
    ...(usage === undefined ? [] : [{ ...says("b", "n"), message: { id: "n", content: [text("ok")], usage } }]),
  ];
  fold.appendAll(
    raws.map((raw, at) => ({
      entry: entryOf({ parentUuid: at === 0 ? null : raws[at - 1]?.uuid, ...raw }),
      start: at,
      end: at,
    })),
  );
  const thresholds = computeThresholds({
    rule: palimpsest.thresholds,
    window: tokens(window),
    outputTokensMax: tokens(64_000),
    autoCompact: "on",
  });
  const report = contextReport({ fold, ledger, thresholds, autoCompact: "on" });
  return contextText(report, {
    style: (_, words) => words,
    columns,
    model: "claude-sonnet-4-5-20250929",
    windowSource,
    windowFrom: "the log has a context of 535,149",
    reduction,
  });
}

const signsOf = (screen: string): string[] =>
  screen
    .split("\n")
    .filter((line) => /^(?: {1,2}\S){15}/.test(line))
    .flatMap((line) => line.slice(2, 41).split(" "));

const asking = (uuid: string, name: string, input: object = {}): Raw =>
  says(uuid, `m-${uuid}`, { type: "tool_use", id: `t-${uuid}`, name, input });

describe("the context, on a screen", () => {
  it("fits 80 columns", () => {
    for (const line of shown(80).split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it("says what makes room next", () => {
    expect(shown(80)).toMatch(/\d+% left until clearing\n/);
    expect(shown(80, { reduction: "compact" })).toMatch(/\d+% left until compaction\n/);
    expect(shown(80, { reduction: "none" })).toMatch(/\d+% left\n/);
    const full = { usage: { input_tokens: 170_000, output_tokens: 2 } };
    expect(shown(200, full)).toContain(
      "full: the next request clears old results first, or compacts if these are too few",
    );
    expect(shown(200, { ...full, reduction: "compact" })).toContain("full: the conversation is compacted before");
    for (const line of shown(60, full).split("\n")) expect(line.length, line).toBeLessThanOrEqual(60);
  });

  it("fits a narrow screen: the legend goes below the squares, and their rows get shorter", () => {
    for (const columns of [72, 64, 50, 42, 30]) {
      const [, ...parts] = shown(columns).split("\n\n");
      const grid = parts
        .slice(
          0,
          parts.findIndex((part) => part.startsWith("categories")),
        )
        .join("\n");
      for (const line of grid.split("\n")) expect(line.length, `${columns}: ${line}`).toBeLessThanOrEqual(columns);
      expect(grid).toMatch(/autocompact buffer 33,000/);
      const squares = grid.replaceAll(/\S [a-z][a-z, ]* [\d,]+$/gm, "");
      expect(squares.match(/\S/g)).toHaveLength(200);
    }
    for (const line of shown(50).split("\n")) expect(line.length, line).toBeLessThanOrEqual(50);
  });

  it("can be read without colour: each group has a sign of its own, and the grid has 200 squares", () => {
    const rows = shown(80)
      .split("\n")
      .slice(3, 13)
      .map((line) => line.slice(2, 41).split(" "));
    expect(rows.flat()).toHaveLength(200);
    expect(new Set(rows.flat())).toEqual(new Set(["■", "▣", "◆", "·", "▒"]));
  });

  it("names the pieces of the fixed part, calls what is left its rest, and lists deferred tools beside the window", () => {
    const tools = [
      { name: "Read", about: "reads ".repeat(200) },
      { name: "mcp__a__b", about: "does ".repeat(200) },
      { name: "Late", about: "comes ".repeat(200), defer_loading: true },
    ];
    const memoryFiles = [{ path: "/notes.md", text: "note ".repeat(200) }];
    const part = { systemPrompts: ["rule ".repeat(200)], tools, memoryFiles };
    const usage = { input_tokens: 40_000, output_tokens: 2 };
    const screen = shown(80, { part, usage });
    for (const title of ["system prompt", "memory files", "tools", "MCP tools"])
      expect(screen).toMatch(new RegExp(`^${title} +\\d+ +\\d+% +1$`, "m"));
    expect(screen).toMatch(/^the rest of the fixed part +[\d,]+/m);
    expect(screen).toMatch(/^1 deferred tool, not in the window until loaded: \d+ tokens$/m);
    for (const line of screen.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(shown(80, { usage })).toMatch(/^system prompt, tools and what is not logged +[\d,]+/m);
  });

  it("of a view over its window is a picture of the view: every group has its share of the squares", () => {
    const signs = signsOf(shown(80, { window: 10_000, usage: { input_tokens: 40_000, output_tokens: 10 } }));
    expect(signs).toHaveLength(200);
    const count = (sign: string): number => signs.filter((one) => one === sign).length;
    expect(count("▪")).toBeGreaterThan(100);
    expect(count("■")).toBeGreaterThan(15);
    expect(count("◆")).toBeGreaterThan(10);
    expect([count("·"), count("▒")]).toEqual([0, 0]);
  });

  it("has no free square where nothing is free, and one for whatever is there at all", () => {
    for (let input = 170_000; input < 198_000; input += 1_337) {
      const words = input % 1_000;
      const asked = [
        asking("e", "Edit", { text: "x ".repeat(1_000 + words) }),
        result("re", "t-e", "word ".repeat(words)),
      ];
      const before = [user("w", "word ".repeat(words)), ...asked];
      const full = signsOf(shown(80, { before, usage: { input_tokens: input, output_tokens: 10 } }));
      expect(full).toHaveLength(200);
      expect(full).not.toContain("·");
      for (const sign of ["▪", "■", "▣", "◆", "▒"]) expect(full).toContain(sign);
    }
  });

  it("cuts paths at their beginning, and of a category keeps the tool", () => {
    const folder = "/home/somebody/workspaces/project/packages/coding-agent/src/deep/down/below";
    const before = ["a", "b"].flatMap((name) =>
      [1, 2].flatMap((time) => [
        asking(`${name}${time}`, "Read", { file_path: `${folder}/${name}.ts` }),
        result(`r-${name}${time}`, `t-${name}${time}`, "line\n".repeat(100)),
      ]),
    );
    const tools = ["first", "second"].flatMap((name) => [
      asking(name, `mcp__a-server-with-a-long-name__${name}`),
      result(`r-${name}`, `t-${name}`),
    ]);
    for (const columns of [50, 80]) {
      const screen = shown(columns, { before: [...before, ...tools] });
      expect(screen).toMatch(/2× +….*\/below\/a\.ts\n.*2× +….*\/below\/b\.ts\n/);
      for (const kind of ["requests", "results"])
        for (const name of ["first", "second"])
          expect(screen).toMatch(new RegExp(`^(tool )?${kind}: .*__${name} `, "m"));
      for (const line of screen.split("\n")) expect(line.length, line).toBeLessThanOrEqual(columns);
    }
  });

  it("names every large item by an id, its entry's where it is no result", () => {
    const uuid = "0e58b484-1111-4000-8000-000000000000";
    const screen = shown(80, {
      before: [user(uuid, "word ".repeat(9000)), asking("asks", "Edit", { text: "x ".repeat(9000) })],
    });
    expect(screen).toMatch(/^ *[\d,]+ {2}text 0e58b484$/m);
    expect(screen).toMatch(/^ *[\d,]+ {2}Edit request asks$/m);
    expect(screen).toMatch(/^ *[\d,]+ {2}Read result x$/m);
  });

  it("says where a window is a guess, and nothing of estimates where all was counted", () => {
    const usage = { input_tokens: 40_000, output_tokens: 10 };
    expect(shown(80, { usage })).toMatch(/^.*\n[\d,]+ of 200,000 tokens \(20%\), /);
    expect(shown(80, { windowSource: "fallback" })).toMatch(/\(window not known: assumed; --context-tokens sets it\)/);
    const recorded = shown(50, { windowSource: "recorded" });
    expect(recorded.replaceAll("\n", " ")).toContain("(window assumed: the log has a context of 535,149;");
    for (const line of recorded.split("\n")) expect(line.length, line).toBeLessThanOrEqual(50);
  });

  it("names the autocompact buffer and the free space", () => {
    expect(shown(80)).toMatch(/autocompact buffer 33,000/);
    expect(shown(80)).toMatch(/free [\d,]+/);
  });
});

describe("headroom text", () => {
  const entry = "0a4e7c1d-1111-4222-8333-444455556666";
  const text = (...named: readonly string[]): string =>
    headroomText({
      kind: "no-headroom",
      tokens: tokens(18_200),
      limit: tokens(16_000),
      largest: named.map((what, at) => ({ what, tokens: tokens(9_000 - at) })),
    });

  it("names the three largest in the words of `palimpsest context`, with short ids", () => {
    const said = text(fixedCategory, "results.read", `read result toolu_1 (${entry})`, "human", "assistant");
    expect(said).toContain(
      "the largest: system prompt, tools and what is not logged (9,000), tool results: read (8,999), read result toolu_1 (8,998); `palimpsest context`",
    );
  });

  it("an item without a call goes by the beginning of its entry's uuid", () => {
    expect(text(`a message (${entry})`)).toContain("the largest: a message 0a4e7c1d (9,000);");
  });

  it("says why no compaction makes room, where that is known", () => {
    const event = { kind: "no-headroom", tokens: tokens(2), limit: tokens(1), largest: [] } as const;
    expect(headroomText({ ...event, because: "The breaker is open." })).toContain("to clear; The breaker is open; the");
  });
});

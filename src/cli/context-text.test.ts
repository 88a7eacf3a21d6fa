import { describe, expect, it } from "vitest";
import { call, entryOf, result, says, text, user } from "../../test/fixture/raw.ts";
import { tokens } from "../schema/brand.ts";
import { Calibration } from "../tokens/calibration.ts";
import { contextReport } from "../tokens/context-report.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { TokenLedger } from "../tokens/ledger.ts";
import { thresholdsOf } from "../tokens/thresholds.ts";
import { Fold } from "../transcript/fold.ts";
import { contextText } from "./context-text.ts";

interface Given {
  readonly part?: FixedPart;
  readonly usage?: object;
}

function shown(columns: number, { part = noFixedPart, usage }: Given = {}): string {
  const ledger = new TokenLedger(new Calibration());
  ledger.carries(part);
  const fold = new Fold({ watch: ledger });
  const raws = [
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
  const thresholds = thresholdsOf({ window: tokens(200_000), outputTokensMax: tokens(64_000), autoCompact: "on" });
  const report = contextReport({ fold, ledger, thresholds, autoCompact: "on" });
  return contextText(report, {
    style: (_, words) => words,
    columns,
    model: "claude-sonnet-4-5-20250929",
    windowSource: "registry",
  });
}

describe("the context, on a screen", () => {
  it("fits 80 columns", () => {
    for (const line of shown(80).split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
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

  it("names the autocompact buffer and the free space", () => {
    expect(shown(80)).toMatch(/autocompact buffer 33,000/);
    expect(shown(80)).toMatch(/free [\d,]+/);
  });
});

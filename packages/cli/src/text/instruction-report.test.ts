import type { Instruction } from "palimpsest/internal/memory/load-instruction-file";
import type { LoadedInstructions } from "palimpsest/internal/memory/load-instructions";
import { describe, expect, it } from "vitest";
import { formatInstructionReport, instructionReport } from "./instruction-report.ts";

const file = (path: string, text: string, more: Partial<Instruction> = {}): Instruction => ({
  path,
  scope: "project",
  text,
  hash: text,
  ...more,
});
const loaded = (changes: Partial<LoadedInstructions>): LoadedInstructions => ({
  files: [],
  rules: [],
  problems: [],
  asked: [],
  duplicates: [],
  excluded: [],
  seen: new Set(),
  ...changes,
});
const sonnet = { model: "claude-sonnet-5-5", models: [] };

describe("the report on instructions", () => {
  it("adds up what every request carries: written once, read by the others", () => {
    const files = [file("/p/CLAUDE.md", "word ".repeat(4_000)), file("/p/b.md", "", { importedBy: "/p/CLAUDE.md" })];
    const { tokens, chars, money, files: listed } = instructionReport(loaded({ files }), sonnet);
    expect([chars, listed[1]?.tokens]).toEqual([20_000, 0]);
    expect(tokens).toBeGreaterThan(5_000);
    // Two dollars for a million tokens of input.
    expect(money).toEqual({
      firstDollars: expect.closeTo((tokens * 2.5) / 1e6, 9) as number,
      laterDollars: expect.closeTo((tokens * 0.2) / 1e6, 9) as number,
      requests: 80,
      sessionDollars: expect.closeTo((tokens * (2.5 + 79 * 0.2)) / 1e6, 9) as number,
    });
  });

  it("of a model without prices has no money", () => {
    const report = instructionReport(loaded({ files: [file("/a.md", "x")] }), { model: "unknown", models: [] });
    expect(report.money).toBeUndefined();
    expect(formatInstructionReport(report)).toContain("The prices of unknown are not known.");
  });

  it("warns of all that is left out, and of what is there twice", () => {
    const { warnings } = instructionReport(
      loaded({
        files: [file("/p/CLAUDE.md", "same"), file("/p/AGENTS.md", "same"), file("/p/empty.md", ""), file("/q.md", "")],
        problems: ["/p/x.md has 50,000 characters, which every request carries"],
        asked: [
          { path: "/o.md", realPath: "/o.md", answer: "left-out" },
          { path: "/yes.md", realPath: "/yes.md", answer: "allowed" },
        ],
        duplicates: [{ path: "/p/b.md", sameAs: "/p/a.md" }],
        excluded: ["/p/old/CLAUDE.md"],
      }),
      sonnet,
    );
    expect(warnings).toEqual([
      "/p/x.md has 50,000 characters, which every request carries",
      "/o.md lies outside of the project and was left out, as you answered",
      "/p/old/CLAUDE.md was left out by claudeMdExcludes",
      "/p/b.md is the same file as /p/a.md and was loaded once",
      "/p/AGENTS.md has the same text as /p/CLAUDE.md: every request carries both",
    ]);
  });

  it("reads as a table, with rules apart, the assumption, and warnings last", () => {
    const rule = { ...file("/p/.claude/rules/api.md", "rule"), patterns: ["src/api/**"], base: "/p" };
    const address = file("https://rules.example/a.md", "x", { scope: "user", fetchedOn: "2026-11-15" });
    const imported = file("/p/b.md", "y", { importedBy: "/p/CLAUDE.md" });
    const report = instructionReport(
      loaded({ files: [address, imported], rules: [rule], problems: ["/p/z.md is no text and was left out"] }),
      sonnet,
    );
    expect(formatInstructionReport(report)).toBe(`scope    characters  tokens  loaded at the start
user              1     ≈40  https://rules.example/a.md  fetched 2026-11-15
project           1     ≈30  /p/b.md  imported by /p/CLAUDE.md

scope    characters  tokens  loaded when a file matches
project           4     ≈27  /p/.claude/rules/api.md  for src/api/**

2 files, 2 characters, about 70 tokens (an estimate) in every request.
With claude-sonnet-5-5: $0.001 for a session of 80 requests, if the first writes them to the cache (less than $0.001) and each later one reads them from it (less than $0.001).

! /p/z.md is no text and was left out
`);
    expect(formatInstructionReport(instructionReport(loaded({}), sonnet))).toBe(
      "No instruction files are loaded here.\n",
    );
  });
});

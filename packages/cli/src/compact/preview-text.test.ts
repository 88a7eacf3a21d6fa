import { describe, expect, it } from "vitest";
import type { CompactionPreview, Proposal } from "palimpsest/internal/context/compact/proposal";
import { entryId, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import type { ReceiptClass, ReceiptLine } from "palimpsest/internal/schema/receipt";
import { plain } from "../text/style.ts";
import { type PreviewLook, previewText } from "./preview-text.ts";

const line = (kind: ReceiptClass, before: number, after: number): ReceiptLine => ({
  entry: entryId(`${kind}-${before}-${after}`),
  class: kind,
  tokensBefore: tokens(before),
  tokensAfter: tokens(after),
});

const message = (text: string) => ({ entry: entryId("u1"), text, at: undefined });

const preview: CompactionPreview = {
  receipt: {
    edits: [entryId("b")],
    cause: "manual",
    lines: [
      line("kept", 100, 100),
      line("summarised", 5_000, 0),
      line("summarised", 700, 0),
      line("dropped", 30, 0),
      line("added", 0, 400),
    ],
    tokensBefore: tokens(5_830),
    tokensAfter: tokens(500),
    tokensBehind: tokens(0),
    price: { writeRate: 1.25, readRate: 0.1, now: 1, perRound: 1 },
  },
  tokensBefore: tokens(20_000),
  tokensAfter: tokens(9_000),
  audit: {
    score: 0.5,
    parts: {
      userMessages: { wanted: 4, found: 4 },
      filesModified: { wanted: 2, found: 1 },
      openTodos: { wanted: 0, found: 0 },
      lastRequest: { wanted: 1, found: 1 },
      lastError: { wanted: 0, found: 0 },
    },
    missing: [{ kind: "user-message", fact: message("Leave the\nvendored folder alone.") }],
    untold: [],
  },
  userMessages: { verbatim: 2, cut: 1, named: 1, spanned: 0 },
  restored: ["todos", "files"],
};

const proposal: Proposal = {
  ask: { trigger: "manual", cause: "person", part: { kind: "all" } },
  summary: Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n"),
  path: "fork",
  calls: [{ path: "fork", model: "m", usage: {} }],
  changes: [],
  leaf: entryId("leaf"),
  tookMillis: 0,
  preview,
};

const shown = (changes: Partial<Proposal> = {}, look: Partial<PreviewLook> = {}): string =>
  previewText({ ...proposal, ...changes }, { ...usual, ...look });

const usual: PreviewLook = {
  style: plain,
  columns: 120,
  session: "s1",
  answerer: "provider",
  ownPrompt: undefined,
  cwd: "/proj",
  summary: "none",
  details: "counted",
  listedBy: "s lists them",
};

describe("the preview of a compaction", () => {
  it("tells entries by class: what leaves by the size it had, what stands by the size it has", () => {
    expect(shown()).toMatch(
      /entries +1 kept \(100 tokens\), 2 summarised \(5,700 tokens\), 1 dropped \(30 tokens\), 1 added \(400 tokens\)\n/,
    );
    expect(shown()).toContain("context    20,000 → 9,000 tokens\n");
  });

  it("says what part it is about", () => {
    const entry = entryId("e1");
    const part = (ask: Proposal["ask"]["part"]) => shown({ ask: { ...proposal.ask, part: ask } }).split("\n")[0];
    expect(part({ kind: "all" })).toBe("Compaction of s1: everything that was said");
    expect(part({ kind: "from", entry })).toBe("Compaction of s1: from e1 on; what stands before it stays");
    expect(part({ kind: "up_to", entry })).toBe("Compaction of s1: what stands before e1; the rest stays");
  });

  it("says who wrote it, and why no model did", () => {
    expect(shown()).toContain("summary    by a fork of the conversation, 1 call answered\n");
    const instead = { reason: "api_error", message: "There is no key." } as const;
    expect(shown({ path: "extractive", calls: [], instead })).toContain("without a model: There is no key\n");
  });

  it("leaves out of the audit what nothing was wanted of, and names what is carried forward, a line each", () => {
    expect(shown()).toContain("audit      50%, user messages 4 of 4, files changed 1 of 2, last request 1 of 1\n");
    expect(shown()).toContain("carried    message: Leave the vendored folder alone.\n");
  });

  it("begins with the figures, and counts what comes in any number: all of it fits a small screen", () => {
    const missing = Array.from(
      { length: 20 },
      (_, at) => ({ kind: "user-message", fact: message(`no ${at}`) }) as const,
    );
    const changes = Array.from({ length: 300 }, (_, at) => `A quote was taken out: ${at}`);
    const much = { changes, preview: { ...preview, audit: { ...preview.audit, missing } } };
    const lines = shown(much, { columns: 80 }).trimEnd().split("\n");
    expect(lines[1]).toContain("context    20,000 → 9,000 tokens");
    expect(lines.length).toBeLessThan(16);
    const text = lines.join("\n");
    expect(text).toContain("changed    300 remarks on what was changed or left out; s lists them\n");
    expect(text).toContain("carried    20 facts that the summary lacks, told behind it; s lists them\n");
    const listed = shown(much, { details: "listed" });
    expect(listed.match(/A quote was taken out: /g)).toHaveLength(300);
    expect(listed.match(/message: no/g)).toHaveLength(20);
    expect(listed).not.toContain("lists them");
    expect(listed.match(/^ {2}changed /gm)).toHaveLength(1);
  });

  it("says how the user's words stand in it, and nothing of ways in which none does", () => {
    expect(shown()).toContain("you said   2 verbatim, 1 cut, 1 by id\n");
  });

  it.each([
    [4, "pays after 4 rounds"],
    [1, "pays after 1 round\n"],
    [0, "pays at once"],
    [undefined, "never pays"],
  ])("with a break-even of %s says that it %s", (rounds, words) => {
    const money = {
      callsNanos: nanoUsd(12_300_000),
      roundBeforeNanos: nanoUsd(6_000_000),
      roundAfterNanos: nanoUsd(2_700_000),
      ...(rounds === undefined ? {} : { breakEvenRounds: rounds }),
    };
    const text = shown({ preview: { ...preview, money } });
    expect(text).toContain("$0.0123 paid for the summary; a round's prompt $0.006000 → $0.002700");
    expect(text).toContain(words);
    expect(text).not.toContain("simulated");
    expect(shown({ preview: { ...preview, money } }, { answerer: "simulator" })).toMatch(/money .* \(simulated\)\n/);
  });

  it("names the user's own prompt where what the model wrote with it was no summary", () => {
    const ownPrompt = { path: "/home/prompts/compact.md", problems: [] };
    const instead = { reason: "no_summary", message: "That is no summary." } as const;
    expect(shown({ path: "extractive", instead }, { ownPrompt })).toMatch(
      /prompt +The prompt is your own, \/home\/prompts/,
    );
    expect(shown({}, { ownPrompt })).not.toContain("/home/prompts");
  });

  it("files that are only named are told from what is shown again", () => {
    expect(shown()).toContain("restored   todos, and other files by name\n");
    expect(shown({ preview: { ...preview, restored: ["todos", "/a.ts"] } })).toContain("restored   todos, /a.ts\n");
  });

  it("says nothing of money that nobody knows, nor of pins that keep to their budget", () => {
    expect(shown()).not.toMatch(/money|pins/);
    expect(shown({ preview: { ...preview, pinsWarning: "Too many pins." } })).toContain("pins       Too many pins.\n");
  });

  it("shows the summary whole, its beginning, or not at all", () => {
    expect(shown({}, { summary: "whole" })).toContain("line 29\n");
    expect(shown({}, { summary: "beginning" })).toMatch(/line 11\n… 18 more lines; s shows all of it\n$/);
    expect(shown()).not.toContain("line 0");
  });

  it("fits the terminal", () => {
    const widths = shown({}, { columns: 50 })
      .split("\n")
      .map((one) => one.length);
    expect(Math.max(...widths.slice(1))).toBeLessThanOrEqual(50);
  });
});

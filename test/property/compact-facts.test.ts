import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { auditSummary, repairSummary } from "../../packages/palimpsest/src/layers/4-compact/audit.ts";
import { extractSummary } from "../../packages/palimpsest/src/layers/4-compact/extract-summary.ts";
import { FactBook, collectFacts } from "../../packages/palimpsest/src/layers/4-compact/facts/fact-book.ts";
import type { CountText } from "../../packages/palimpsest/src/layers/clip-text.ts";
import { parseHeading, summarySections } from "../../packages/palimpsest/src/layers/4-compact/summary-sections.ts";
import { type UserLedger, buildLedger } from "../../packages/palimpsest/src/layers/4-compact/user-ledger.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { estimateBlock } from "../../packages/palimpsest/src/tokens/estimate-block.ts";
import { userText } from "../../packages/palimpsest/src/transcript/user-text.ts";
import { readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { corpusBytes, corpusFiles, hasCorpus } from "../fixture/corpus.ts";
import { foldOf, loggedOf } from "../fixture/log.ts";
import { anyHistory } from "./history.ts";
import { parametersFor } from "./runs.ts";
import { anySessionFacts } from "./session-facts.ts";

const count: CountText = (text) => estimateBlock({ type: "text", text });
const runs = { quick: 80, long: 3000 };
const noLedger: UserLedger = { text: "", tokens: tokens(0), messages: [] };
/** Enough for what a summary must carry of a session of a few hundred rounds. */
const saneTokens = 12_000;
const ledgerTokens = 20_000;

describe("facts", () => {
  it("hold every message of the user on the path, byte for byte and in order, whatever the log", () => {
    fc.assert(
      fc.property(anyHistory, ({ lines }) => {
        const entries = foldOf(loggedOf(lines)).path.logged.map(({ entry }) => entry);
        const said = entries.flatMap((entry) => (entry.id === undefined ? [] : (userText(entry) ?? [])));
        expect(collectFacts(entries).userMessages.map(({ text }) => text)).toEqual(said);
      }),
      parametersFor(runs),
    );
  });

  it("are the same, appended one by one or read at once, and survive being stored", () => {
    fc.assert(
      fc.property(anyHistory, ({ lines }) => {
        const entries = foldOf(loggedOf(lines)).path.logged.map(({ entry }) => entry);
        const book = new FactBook();
        for (const entry of entries) {
          book.append(entry);
          book.facts();
        }
        const facts = collectFacts(entries);
        expect(book.facts()).toEqual(facts);
        expect(new FactBook({ earlier: facts }).facts()).toEqual(facts);
      }),
      parametersFor(runs),
    );
  });
});

describe("a summary without a model", () => {
  it("is never over its budget, well-formed, the same each time, with nine headings in order", () => {
    const titles = summarySections("all").map(({ title }) => title);
    fc.assert(
      fc.property(
        anySessionFacts,
        fc.integer({ min: 0, max: 20_000 }),
        fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
        (facts, budgetTokens, previousSummary) => {
          const summary = extractSummary({ facts, budgetTokens, count, previousSummary });
          expect(count(summary)).toBeLessThanOrEqual(budgetTokens);
          expect(summary.isWellFormed()).toBe(true);
          expect(extractSummary({ facts, budgetTokens, count, previousSummary })).toBe(summary);
          const outside = withoutQuotes(summary).split("\n");
          const found = outside.flatMap((line) => (/^\d\. /.test(line) ? (parseHeading(line)?.title ?? []) : []));
          if (budgetTokens >= 1000) expect(found).toEqual(titles);
        },
      ),
      parametersFor(runs),
    );
  });

  it("carries what the audit looks for, where the budget is sane", () => {
    fc.assert(
      fc.property(anySessionFacts, (facts) => {
        const ledger = buildLedger({ messages: facts.userMessages, budgetTokens: ledgerTokens, count });
        const summary = extractSummary({ facts, budgetTokens: saneTokens, count, messages: "beside" });
        expect(auditSummary({ summary, facts, ledger }).score).toBeGreaterThanOrEqual(0.95);
      }),
      parametersFor(runs),
    );
  });

  it("stays bounded over 50 of its kind, each upon the one before, and the first message stands verbatim beside it", () => {
    fc.assert(
      fc.property(anySessionFacts, (facts) => {
        let previousSummary: string | undefined;
        const lengths: number[] = [];
        for (let round = 0; round < 50; round += 1) {
          previousSummary = extractSummary({ facts, budgetTokens: 3000, count, previousSummary, messages: "beside" });
          lengths.push(previousSummary.length);
          expect(count(previousSummary)).toBeLessThanOrEqual(3000);
        }
        expect(lengths.at(-1)).toBe(lengths.at(-2));
        const ledger = buildLedger({ messages: facts.userMessages, budgetTokens: 1_000_000, count });
        const [first] = facts.userMessages;
        if (first !== undefined && count(first.text) <= 2000) expect(ledger.text).toContain(`>\n${first.text}\n</`);
      }),
      parametersFor({ quick: 15, long: 300 }),
    );
  });
});

describe("the repair of any summary", () => {
  const anySummary = fc.oneof(
    fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
    fc.constant("## Carried forward\n- x"),
    fc.lorem({ maxCount: 100 }),
  );

  it("makes the audit whole where the budget allows, and is idempotent where it does not", () => {
    fc.assert(
      fc.property(anySummary, anySessionFacts, fc.integer({ min: 0, max: 400_000 }), (text, facts, budgetTokens) => {
        const audit = (summary: string): ReturnType<typeof auditSummary> =>
          auditSummary({ summary, facts, ledger: noLedger });
        const repair = (summary: string): string =>
          repairSummary({ summary, audit: audit(summary), budgetTokens, count });
        const once = repair(text);
        expect(repair(once)).toBe(once);
        expect(audit(once).score).toBeGreaterThanOrEqual(audit(text).score);
        if (audit(once).score === 1) return;
        // Only a budget too small for all of it may leave something out, and then that is said, if there is room.
        const all = repairSummary({ summary: text, audit: audit(text), budgetTokens: Number.MAX_SAFE_INTEGER, count });
        expect(audit(all).score).toBe(1);
        expect(once === text || /\(\d+ more did not fit; their ids are in the transcript\)$/.test(once)).toBe(true);
      }),
      parametersFor(runs),
    );
  });
});

const reason = hasCorpus ? "" : " (left out: the folder PALIMPSEST_CORPUS/claude-code is not there)";

describe.skipIf(!hasCorpus)(`recorded Claude Code sessions${reason}`, () => {
  it.each(corpusFiles)("%s is summarised without a model, and the audit finds what it looks for", (name) => {
    const fold = foldOf(readLines({ bytes: corpusBytes(name), start: 0, last: true }).logged, { origin: "foreign" });
    const facts = collectFacts(fold.path.logged.map(({ entry }) => entry));
    const ledger = buildLedger({ messages: facts.userMessages, budgetTokens: ledgerTokens, count });
    const beside = extractSummary({ facts, budgetTokens: saneTokens, count, messages: "beside" });
    expect(auditSummary({ summary: beside, facts, ledger }).score).toBeGreaterThanOrEqual(0.95);
    for (const { entry, shown } of ledger.messages)
      if (shown === "verbatim")
        expect(ledger.text.includes(facts.userMessages.find((one) => one.entry === entry)?.text ?? "?")).toBe(true);
    const small = extractSummary({ facts, budgetTokens: 1000, count });
    expect(count(small)).toBeLessThanOrEqual(1000);
    expect(auditSummary({ summary: small, facts, ledger: noLedger }).parts.lastRequest.found).toBe(1);
  });
});

const withoutQuotes = (summary: string): string =>
  summary.replaceAll(/<(user-messages?(?:-\d+)?|reply|plan)\b[^>]*>[^]*?<\/\1>/g, "");

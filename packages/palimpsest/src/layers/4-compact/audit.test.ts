import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entryId, tokens } from "../../schema/brand.ts";
import { type Audit, auditSummary, repairSummary } from "./audit.ts";
import { carriedCommandsMax, carriedErrorsMax } from "./limits.ts";
import { collectFacts } from "./facts/fact-book.ts";
import type { CommandFact, SessionFacts } from "./facts/session-facts.ts";
import type { CountText } from "../clip-text.ts";
import { type UserLedger, buildLedger } from "./user-ledger.ts";

const count: CountText = (text) => tokens(Math.ceil(text.length / 4));
const entry = entryId("e-1");
const none = collectFacts([]);
const noLedger: UserLedger = { text: "", tokens: tokens(0), messages: [] };
const audited = (summary: string, facts: Partial<SessionFacts>, ledger = noLedger): Audit =>
  auditSummary({ summary, facts: { ...none, ...facts }, ledger });

const error = { text: "TypeError: x is not y", of: "npm test", key: "k", entry, isOpen: true };
const message = { entry, text: "Port the parser", at: undefined };
const facts: SessionFacts = {
  ...none,
  userMessages: [message, { ...message, entry: entryId("e-2"), text: "Now the tests" }],
  lastRequest: { ...message, entry: entryId("e-2"), text: "Now the tests", isOpen: true },
  filesModified: [{ path: "/p/src/a.ts", entry }],
  openTodos: [{ text: "write the docs", status: "pending", entry }],
  lastError: error,
};

const ran = (id: string, command: string): CommandFact => ({ command, entry: entryId(id), outcome: { kind: "done" } });
const more = {
  decisions: [{ question: "Tabs or spaces?", answer: "tabs", entry: entryId("d-1") }],
  errors: [
    { ...error, entry: entryId("x-1"), isOpen: false },
    { ...error, entry: entryId("x-2"), of: "Edit x.ts", text: "it broke" },
    error,
  ],
  lastError: error,
  commands: [ran("c-1", "npm test"), ran("c-2", "npm run lint"), ran("c-3", "npm test\nmore of it")],
} satisfies Partial<SessionFacts>;

describe("the audit", () => {
  it.each<[string, Partial<SessionFacts>, string, number]>([
    ["nothing to carry", {}, "", 1],
    ["a message, verbatim", { userMessages: [message] }, "…Port the parser…", 1],
    ["a message, by its id", { userMessages: [message] }, "see e-1", 1],
    ["a message, in other words", { userMessages: [message] }, "They want the parser ported", 0],
    ["one message of two", { userMessages: facts.userMessages }, "Port the parser", 0.5],
    ["a todo set in bold over two lines", { openTodos: facts.openTodos }, "- **write the\n  docs**", 1],
    ["a todo that is gone", { openTodos: facts.openTodos }, "docs", 0],
    ["the last error in code", { lastError: error }, "It says `typeerror: x is not y`.", 1],
    ["the last error in part", { lastError: error }, "TypeError", 0],
    ["one line of two of the last error", { lastError: { ...error, text: "A: b\nC: d" } }, "It says A: b.", 0],
    ["both lines of the last error", { lastError: { ...error, text: "A: b\nC: d" } }, "C: d, and before A: b", 1],
    [
      "the last error but for its exit code",
      { lastError: { ...error, text: "A: b\nExit code 1" } },
      "It says A: b.",
      1,
    ],
    [
      "no exit code where the last error says no more",
      { lastError: { ...error, text: "Exit code 1" } },
      "It failed.",
      0,
    ],
    ["half of the parts", { lastError: error, userMessages: [message] }, "Port the parser", 0.5],
  ])("%s", (_, wanted, summary, score) => {
    expect(audited(summary, wanted).score).toBe(score);
  });

  it.each<[string, readonly string[], string, number]>([
    ["its whole path", ["/p/src/a.ts"], "changed /p/src/a.ts.", 1],
    ["the end of its path", ["/p/src/a.ts"], "changed `src/a.ts`", 1],
    ["its name alone", ["/p/src/a.ts"], "changed a.ts", 0],
    ["a name that is all of its path", ["a.ts"], "changed a.ts", 1],
    ["the beginning of another name", ["/p/src/a.ts"], "changed a.tsx and a.ts.bak", 0],
    ["the end of another name", ["/p/src/a.ts"], "changed data.ts", 0],
    ["a name that two files have", ["/p/x/a.ts", "/p/y/a.ts"], "changed a.ts", 0],
    ["as much as tells two files apart", ["/p/x/a.ts", "/p/y/a.ts"], "changed x/a.ts and y/a.ts", 1],
    ["a word that is the name of a file without an ending", ["/p/bin/test"], "the test", 0],
    ["a folder and a name without an ending", ["/p/bin/test"], "see bin/test", 1],
    ["slashes of another system", [String.raw`C:\p\src\a.ts`], "changed src/a.ts", 1],
  ])("a file by %s", (_, paths, summary, score) => {
    expect(audited(summary, { filesModified: paths.map((path) => ({ path, entry })) }).score).toBe(score);
  });

  it("takes what the ledger shows, and not what it only counts", () => {
    const ledger = buildLedger({ messages: facts.userMessages, budgetTokens: 20_000, count });
    expect(audited("", { userMessages: facts.userMessages, lastRequest: facts.lastRequest }, ledger).score).toBe(1);
    const counted = { ...ledger, messages: ledger.messages.map((shown) => ({ ...shown, shown: "spanned" as const })) };
    expect(audited("", { userMessages: facts.userMessages }, counted).score).toBe(0);
  });

  it("says what is missing, the last request first", () => {
    const { missing, parts } = audited("", facts);
    expect(missing.map(({ kind }) => kind)).toEqual(["last-request", "last-error", "todo", "file", "user-message"]);
    expect(parts.userMessages).toEqual({ wanted: 2, found: 0 });
  });

  const untold = (summary: string, wanted: Partial<SessionFacts>, ledger = noLedger): readonly string[] =>
    audited(summary, wanted, ledger).untold.map(({ kind, fact }) => `${kind} ${fact.entry}`);

  it("lists what the summary may do without, the newest of each kind first, and takes nothing off the score for it", () => {
    expect(untold("", more)).toEqual([
      "decision d-1",
      "earlier-error x-2",
      "earlier-error x-1",
      "command c-3",
      "command c-2",
    ]);
    expect(audited("", more).parts).toEqual(audited("", { lastError: error }).parts);
  });

  it("does not list what the summary tells", () => {
    const summary =
      "Tabs or spaces? They want **tabs**.\n- x.ts: it broke\nTypeError: x is not y: npm test, npm run lint";
    expect(untold(summary, more)).toEqual([]);
  });

  it("does not list a decision that the ledger quotes", () => {
    const said = { entry: entryId("d-1"), text: "tabs", at: undefined };
    const ledger = buildLedger({ messages: [said], budgetTokens: 1000, count });
    expect(untold("", { decisions: more.decisions }, ledger)).toEqual([]);
  });

  it("lists what is still open before newer errors that are over", () => {
    const errors = [true, false, true, false].map((isOpen, at) => ({ ...error, entry: entryId(`x-${at}`), isOpen }));
    expect(untold("", { errors })).toEqual(["x-2", "x-0", "x-3", "x-1"].map((id) => `earlier-error ${id}`));
  });

  it("lists no more errors than are worth their rent, the newest", () => {
    const errors = Array.from({ length: 3 * carriedErrorsMax }, (_, at) => ({ ...error, entry: entryId(`x-${at}-`) }));
    const listed = untold("", { errors });
    expect(listed).toHaveLength(carriedErrorsMax);
    expect(listed[0]).toBe(`earlier-error x-${3 * carriedErrorsMax - 1}-`);
  });

  it("lists no more commands than are worth their rent", () => {
    const commands = Array.from({ length: 100 }, (_, n) => ({ ...ran("c", "x"), command: `run ${n}-` }));
    const listed = audited("", { commands }).untold;
    expect(listed).toHaveLength(carriedCommandsMax);
    expect(listed[0]?.fact).toMatchObject({ command: "run 99-" });
  });
});

describe("the repair", () => {
  const repaired = (summary: string, budgetTokens: number): string =>
    repairSummary({ summary, audit: auditSummary({ summary, facts, ledger: noLedger }), budgetTokens, count });

  it("adds what is missing under a heading of its own, with its ids", () => {
    expect(repaired("A summary.", 1000)).toBe(`A summary.

## Carried forward
- The last request, still open:
<user-message id="e-2">
Now the tests
</user-message>
- The last error: npm test: TypeError: x is not y (still open, e-1)
- To do: write the docs (pending, e-1)
- File changed: /p/src/a.ts (e-1)
<user-message id="e-1">
Port the parser
</user-message>`);
  });

  it("leaves a summary alone that carries everything", () => {
    const summary = repaired("A summary.", 1000);
    expect(auditSummary({ summary, facts, ledger: noLedger }).score).toBe(1);
    expect(repaired(summary, 1000)).toBe(summary);
  });

  it("adds behind it what the summary does not tell, each with how it ended", () => {
    const audit = audited("A summary.", { ...more, errors: more.errors.slice(0, 2), lastError: undefined });
    expect(repairSummary({ summary: "A summary.", audit, budgetTokens: 1000, count })).toBe(`A summary.

## Carried forward
- Asked: Tabs or spaces? – answered: tabs (d-1)
- An earlier error: Edit x.ts: it broke (still open, x-2)
- An earlier error: npm test: TypeError: x is not y (over since, x-1)
- Ran: npm test (done, c-3)
- Ran: npm run lint (done, c-2)`);
  });

  it("never adds more than its budget, and nothing the second time", () => {
    const line = fc.string({ minLength: 1, maxLength: 300 });
    const some = fc.array(fc.tuple(line, line), { maxLength: 30 });
    fc.assert(
      fc.property(some, some, fc.integer({ min: 0, max: 2000 }), (asked, commands, budgetTokens) => {
        const given = {
          ...none,
          lastError: { ...error, text: asked.flat().slice(0, 3).join("\n") },
          errors: commands.map(([, text], at) => ({ ...error, text, entry: entryId(`x-${at}`), isOpen: at % 2 === 0 })),
          decisions: asked.map(([question, answer]) => ({ question, answer, entry })),
          commands: commands.map(([command], at) => ran(`c-${at}`, command)),
        };
        const repair = (summary: string): string =>
          repairSummary({
            summary,
            audit: auditSummary({ summary, facts: given, ledger: noLedger }),
            budgetTokens,
            count,
          });
        const once = repair("A summary.");
        expect(count(once)).toBeLessThanOrEqual(count("A summary.\n") + budgetTokens);
        expect(repair(once)).toBe(once);
      }),
    );
  });

  it("does not count as left out what another carried line says", () => {
    const given = {
      ...none,
      lastError: { ...error, text: " \n!" },
      decisions: [{ question: " ", answer: "!", entry }],
    };
    const repair = (summary: string): string =>
      repairSummary({
        summary,
        audit: auditSummary({ summary, facts: given, ledger: noLedger }),
        budgetTokens: 31,
        count,
      });
    const once = repair("A summary.");
    expect(once).toContain("answered: !");
    expect(once).not.toContain("did not fit");
    expect(repair(once)).toBe(once);
  });

  it("says how much did not fit", () => {
    expect(repaired("A summary.", 80)).toMatch(
      /Now the tests[^]*\n\(\d more did not fit; their ids are in the transcript\)$/,
    );
  });

  it("adds nothing where there is no room even to say so", () => {
    expect(repaired("A summary.", 5)).toBe("A summary.");
  });

  it("goes on with a section that it wrote itself, when there is more to carry", () => {
    const first = repairSummary({
      summary: "A summary.",
      audit: audited("A summary.", { lastError: error }),
      budgetTokens: 1000,
      count,
    });
    const both = repaired(first, 1000);
    expect(both.startsWith(first)).toBe(true);
    expect(both.split("## Carried forward")).toHaveLength(2);
  });

  it("is not kept from its work by a section that a model made up", () => {
    const summary = `A summary.\n\n## Carried forward\n${"words ".repeat(2000)}`;
    expect(auditSummary({ summary: repaired(summary, 1000), facts, ledger: noLedger }).score).toBe(1);
  });
});

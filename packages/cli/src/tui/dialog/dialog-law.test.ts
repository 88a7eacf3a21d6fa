import { visibleWidth } from "@earendil-works/pi-tui";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import { Desk, key, open } from "../../../../../test/fixture/dialog-desk.ts";
import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import { toolUseId } from "palimpsest/internal/schema/brand";
import type { TrustRequest } from "../../agent/pending-trust.ts";
import type { PendingApproval } from "../../settings/defined-servers.ts";
import { importDialog } from "./import-dialog.ts";
import { approveDialog, trustDialog } from "./trust-dialog.ts";
import { chooseDialog } from "./choose-dialog.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { quietBeforeAnswerMs, shownBeforeAnswerMs } from "../limits.ts";
import { permissionDialog } from "./permission-dialog.ts";
import { editDialog, planDialog } from "./plan-dialog.ts";
import { previewDialog } from "./preview-dialog.ts";
import { questionDialog } from "./question-dialog.ts";

/** What strangers write: scripts of all widths, what drives a terminal, what turns the order round, and very long words. */
const piece = fc.constantFrom(
  "a word ",
  "漢字かな",
  "👨‍👩‍👧‍👦🏳️‍🌈",
  "e\u0301\u0323",
  "\u202Eabc\u2066",
  "שלום",
  "\x1b[31mred",
  "\x1b[2J\x1b[3J",
  "\x1b]52;c;AAAA\x07",
  "\x1b]8;;http://x\x1b\\y",
  "\x1b_pi:c\x07",
  "\x9b1m",
  "\r",
  "\r\n",
  "\t",
  "\n",
  "\n\n# ",
  "\n- ",
  "| a | b |\n|---|---|\n| c | d |\n",
  "```\ncode\n",
  "\u200D\u200B\uFEFF",
  "\u2028",
  "x".repeat(200),
  "\uD800",
  "$x$ `y` **z** [l](http://a.b)",
);
const stranger = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

const keys = fc.array(
  fc.oneof(
    fc.constantFrom(...Object.values(key).filter((one) => typeof one === "string")),
    fc.constantFrom("y", "n", "e", "t", "s", "1", "2", "3", " ", "漢"),
    stranger.map((text) => key.paste(text)),
  ),
  { maxLength: 8 },
);

const makers: Readonly<Record<string, (text: string) => (deps: DialogDeps) => Dialog<unknown>>> = {
  "a command": (text) => (deps) => permissionDialog(commandAsk(text), deps),
  "a change": (text) => (deps) =>
    permissionDialog(
      {
        ...commandAsk(text),
        tool: "edit",
        input: { file_path: text, old_string: text, new_string: `${text}b` },
        acts: [{ kind: "write", path: text }],
      },
      deps,
    ),
  "a tool of a server": (text) => (deps) =>
    permissionDialog(
      { ...commandAsk(text), tool: text, input: { [text]: text }, acts: [{ kind: "mcp", server: text, tool: text }] },
      deps,
    ),
  "a question": (text) => (deps) =>
    questionDialog(
      {
        toolUse: toolUseId("t"),
        questions: [{ question: text, header: text, options: [{ label: text, description: text }], choose: "many" }],
      },
      deps,
    ),
  "a plan": (text) => (deps) => planDialog({ plan: text, path: text }, deps),
  "a choice": (text) => (deps) =>
    chooseDialog(
      {
        title: text,
        choices: [
          { value: "a", label: text, description: text },
          { value: "b", label: text },
        ],
        search: "typed",
        verb: text,
      },
      deps,
    ),
  "a preview": (text) => (deps) => previewDialog({ title: text, facts: [text], details: [text], text }, deps),
  "a text to edit": (text) => (deps) => editDialog({ title: text, text }, deps),
  "a server": (text) => (deps) =>
    approveDialog(
      {
        servers: [serverOf(text)],
        refusals: "kept",
      },
      deps,
    ),
  "an import": (text) => (deps) =>
    importDialog(
      [
        { path: text, realPath: `${text} `, importedBy: text, answer: "unasked" },
        { path: text, realPath: text, answer: "unasked" },
      ],
      deps,
    ),
  "a project to trust": (text) => (deps) => trustDialog(trustOf(text), deps),
};

const trustOf = (text: string): TrustRequest => ({
  root: text,
  items: (["runs", "allows", "sets"] as const).map((does) => ({ does, text, from: text })),
});

const serverOf = (text: string): PendingApproval => ({
  name: text,
  from: text,
  approval: "x",
  runs: { kind: "program", command: text, args: [text] },
  given: [
    { name: text, written: text, kind: "plain" },
    { name: text, written: text, kind: "loader" },
  ],
  takes: [text],
});

const commandAsk = (text: string): PermissionPrompt => ({
  toolUse: toolUseId("t"),
  tool: "bash",
  input: { command: text },
  acts: [{ kind: "shell", command: text, effect: "unknown", reads: "known", writes: "known" }],
  reason: text,
  suggestedRules: [text],
});

// oxlint-disable-next-line no-control-regex
const colour = /\x1b\[[\d;]*m/g;
const unprintable = /[\p{Cc}\u202A-\u202E\u2066-\u2069\u200B\uFEFF\u2028]/u;

describe.each(Object.entries(makers))("%s", (_, make) => {
  test.each([40, 80, 120])(
    "fits into %i columns and the rows there are, and nothing of strangers drives the terminal",
    (width) => {
      fc.assert(
        fc.property(
          stranger,
          keys,
          fc.integer({ min: 4, max: 50 }),
          fc.constantFrom("none", "ansi"),
          (text, pressed, rows, colours) => {
            const desk = new Desk(make(text), { rows, width, colours }).seen().press(...pressed);
            const { lines } = desk;
            expect(lines.length).toBeLessThanOrEqual(rows);
            for (const line of lines) {
              expect(visibleWidth(line)).toBeLessThanOrEqual(width);
              expect(line.replaceAll(colours === "ansi" ? colour : "", "")).not.toMatch(unprintable);
            }
          },
        ),
        { numRuns: 40 },
      );
    },
  );

  test("how to leave it is said in 40 columns too", () => {
    expect(new Desk(make("a word"), { width: 40 }).seen().lines.at(-1)).toContain("esc");
  });

  test("ten thousand lines are drawn soon, and once drawn at once", () => {
    const desk = new Desk(make("a line of text 漢字\n".repeat(10_000)));
    const start = cpuMillis();
    desk.seen();
    const first = cpuMillis();
    desk.seen();
    expect(first - start).toBeLessThan(3_000);
    expect(cpuMillis() - first).toBeLessThan(500);
  });
});

/** A key and how long it was waited for. `opens` and `closes`: a paste that comes in pieces. */
const timed = fc.array(
  fc.record({
    data: fc.constantFrom(
      "y",
      "Y",
      "\x1b[121u",
      "s",
      "p",
      "1",
      "2",
      "3",
      "4",
      "t",
      "n",
      "q",
      ...(["enter", "up", "down", "left"] as const).map((name) => key[name]),
      key.paste("y\r"),
      "\x1b[200~",
      "\x1b[201~",
      "yy",
      "y\r",
    ),
    waitMillis: fc.constantFrom(
      0,
      1,
      100,
      quietBeforeAnswerMs - 1,
      quietBeforeAnswerMs,
      shownBeforeAnswerMs - 1,
      shownBeforeAnswerMs,
      5_000,
    ),
  }),
  { maxLength: 12 },
);
const granting: ReadonlySet<string> = new Set(["y", "Y", "\x1b[121u", "1", key.enter]);

test("whatever is pressed whenever, only a key that grants grants, after the quiet and outside of a paste", async () => {
  let granted = 0;
  await fc.assert(
    fc.asyncProperty(timed, fc.integer({ min: 0, max: 3 }), async (presses, drawnAfter) => {
      const desk = new Desk((deps) => permissionDialog({ ...commandAsk("ls"), suggestedRules: ["bash(ls)"] }, deps));
      let sinceDrawn = Number.NEGATIVE_INFINITY;
      let sincePressed = Number.POSITIVE_INFINITY;
      let isPasting = false;
      let isHeard = false;
      let mayGrant = false;
      for (const [index, { data, waitMillis }] of presses.entries()) {
        if (index === drawnAfter) {
          desk.dialog.render(80);
          sinceDrawn = 0;
          sincePressed = Number.POSITIVE_INFINITY;
        }
        desk.wait(waitMillis).dialog.handleInput(data);
        sinceDrawn += waitMillis;
        sincePressed += waitMillis;
        isHeard ||= sinceDrawn >= shownBeforeAnswerMs && sincePressed >= quietBeforeAnswerMs;
        mayGrant ||= isHeard && !isPasting && granting.has(data);
        if (data === "\x1b[200~") isPasting = true;
        else if (data === "\x1b[201~" || data.endsWith("\x1b[201~")) isPasting = false;
        // What is no key at all does not break the quiet: it only makes this law weaker.
        if (!isPasting && data !== "y\r") sincePressed = 0;
      }
      const answer = await desk.answer();
      if (answer === open || answer.kind === "denied") return;
      granted += 1;
      expect(mayGrant).toBe(true);
    }),
    { numRuns: 3_000 },
  );
  expect(granted).toBeGreaterThan(100);
});

const slowly = fc.array(
  fc.record({
    data: fc.oneof(
      fc.constantFrom("s", "p", "d", "y", "1", "2", "3", "a", " "),
      fc.string({ minLength: 1, maxLength: 1 }),
    ),
    waitMillis: fc.constantFrom(0, 100, quietBeforeAnswerMs, 5_000),
  }),
  { maxLength: 40 },
);
/** What would outlast the dialog, by the one that is asked. */
const keeping: Readonly<Record<string, (deps: DialogDeps) => Dialog<unknown>>> = {
  permission: (deps) => permissionDialog({ ...commandAsk("ls"), suggestedRules: ["bash(ls)"] }, deps),
  servers: (deps) => approveDialog({ servers: [serverOf("a"), serverOf("b")], refusals: "kept" }, deps),
  trust: (deps) => trustDialog(trustOf("a"), deps),
};

test.each(Object.entries(keeping))(
  "no letter and no number, in whatever order and however slowly, keeps anything without Enter: %s",
  async (_, make) => {
    await fc.assert(
      fc.asyncProperty(slowly, async (presses) => {
        const desk = new Desk(make).seen();
        for (const { data, waitMillis } of presses) desk.wait(waitMillis).press(data);
        const answer = await desk.answer();
        expect(answer === open ? "" : JSON.stringify(answer)).not.toMatch(/"(?:always|allow|never)"/);
      }),
      { numRuns: 1_000 },
    );
  },
);

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { quietBeforeAnswerMs } from "../packages/cli/src/tui/limits.ts";
import { chatProgram, isPromptShown } from "../test/terminal/chat-program.ts";
import type { StyledRun } from "../test/terminal/styled-lines.ts";
import { openTerminal, type Terminal } from "../test/terminal/terminal.ts";
import { terminalSvg } from "./terminal-svg.ts";

/**
 * `node scripts/screenshots.ts [name…]`: runs the real chat on a real pseudo-terminal, with the simulator and
 * screenshots.yaml as the model, and writes what is on the screen to docs/picture. The pictures are reproducible.
 */
const root = join(import.meta.dirname, "..");
/** Always the same path: it is part of the request, and so influences the figures that are shown. */
const base = join(tmpdir(), "palimpsest-screenshots");
const [project, home] = [join(base, "weir"), join(base, "home")];
const pictures = join(root, "docs/picture");
const [columns, rows] = [100, 50];
const names = process.argv.slice(2);
/** Small enough that a short session fills part of it, and large enough that nothing is compacted. */
const smallWindow = "50000";
/** Allows for a program that is compiled for the first time. */
const within = { withinMillis: 60_000 };

rmSync(base, { recursive: true, force: true });
mkdirSync(base);
cpSync(join(root, "examples/demo/project"), project, { recursive: true });
try {
  await repair();
  await createEarlierSessions();
  await showResume();
} finally {
  rmSync(base, { recursive: true, force: true, maxRetries: 3 });
}

async function repair(): Promise<void> {
  const scenario = join(import.meta.dirname, "screenshots.yaml");
  await during(palimpsest("--scenario", scenario, "--context-tokens", smallWindow), async (terminal) => {
    await terminal.waitFor(isPromptShown, within);
    terminal.type("A test of the bulletin fails. Find out why, and fix the cause.");
    terminal.press("enter");
    await terminal.waitFor("Yes, once", within);
    await answer(terminal, "y");
    await terminal.waitFor(dialogAbout("at + minutes(offsetMinutes)"), within);
    take("chat-permission", { terminal, title: "palimpsest: a call waits for an answer" });
    await answer(terminal, "y");
    await terminal.waitFor(dialogAbout("$ node --test"), within);
    await answer(terminal, "y");
    await terminal.waitFor("that stands above it", within);
    await waitUntilIdle(terminal);
    take("chat-turn", { terminal, title: "palimpsest: a failing test is repaired" });
    await sendCommand(terminal, "/context", /autocompact buffer|Free/i);
    take("chat-context", { terminal, title: "palimpsest: /context", from: "> /context" });
    terminal.type("/compact");
    terminal.press("enter");
    await terminal.waitFor("enter commits", within);
    take("chat-compact", { terminal, title: "palimpsest: /compact, before it is done", from: "> /compact" });
    await answer(terminal, "escape");
    await waitUntilIdle(terminal);
  });
}

/** Creates sessions to choose from. */
async function createEarlierSessions(): Promise<void> {
  for (const request of [
    "Explain how gaps between readings are bridged",
    "Add a station for Ashford, offset 60 minutes",
    "Write the bulletin of 2026-03-14 to a file",
  ])
    await during(palimpsest("-p", request, "--actor", "echo"), async (terminal) => {
      await terminal.exited;
    });
}

async function showResume(): Promise<void> {
  await during(palimpsest("--resume"), async (terminal) => {
    await terminal.waitFor(/Explain how gaps[\s\S]*letters narrow/, within);
    take("chat-resume", { terminal, title: "palimpsest --resume" });
  });
}

function palimpsest(...args: readonly string[]): Terminal {
  const cache = join(base, "cache");
  return openTerminal({ ...chatProgram({ home, cwd: project, cache, args }), columns, rows });
}

async function during(terminal: Terminal, run: (terminal: Terminal) => Promise<void>): Promise<void> {
  try {
    await run(terminal);
  } finally {
    await terminal.close();
  }
}

function dialogAbout(what: string): (screen: readonly string[]) => boolean {
  return (screen) => [what, "Yes, once"].every((text) => screen.some((line) => line.includes(text)));
}

/** A dialog takes no answer until no key has been pressed for a moment. */
async function answer(terminal: Terminal, key: "y" | "escape"): Promise<void> {
  await pause(2 * quietBeforeAnswerMs);
  terminal.press(key);
}

async function sendCommand(terminal: Terminal, command: string, shown: RegExp): Promise<void> {
  terminal.type(command);
  terminal.press("enter");
  await terminal.waitFor(shown, within);
  await waitUntilIdle(terminal);
}

/** Waits until nothing is running that shows its elapsed time. */
async function waitUntilIdle(terminal: Terminal): Promise<void> {
  await terminal.waitFor((screen) => isPromptShown(screen) && !screen.join("\n").includes("esc to interrupt"), within);
}

interface TakeOptions {
  readonly terminal: Terminal;
  readonly title: string;
  /** Text of the line that the picture begins with. Default: the whole screen. */
  readonly from?: string;
}

function take(name: string, { terminal, title, from = "" }: TakeOptions): void {
  if (names.length > 0 && !names.includes(name)) return;
  const first = Math.max(
    0,
    terminal.screen().findIndex((line) => line.includes(from)),
  );
  const lines = terminal.styled().slice(first);
  const file = join(pictures, `${name}.svg`);
  writeFileSync(file, terminalSvg({ title, columns, lines: lines.map((runs) => runs.map(stabilize)) }));
  console.log(`docs/picture/${name}.svg`);
}

/**
 * Replaces what differs each time and means nothing to the reader: random ids, seconds, the spinner. The view after a
 * compaction contains such ids, so the last digits of its size and price are replaced too.
 */
function stabilize(run: StyledRun): StyledRun {
  const text = run.text
    .replaceAll(/(?<=\btoolu_)[\w-]{10,}/g, (id) => sameLength("01aBcDeFgHiJkLmNoPqRsTuV", id))
    .replaceAll(/\b(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{8}\b/g, (id) => sameLength("4f2a90c7", id))
    .replaceAll(/[\u2801-\u28FF]/g, "⠋")
    .replaceAll(/· \d+ s\b/g, "· 1 s")
    .replaceAll(/\b\d+ s ago\b/g, "1 s ago")
    .replaceAll(/(?<=(?:→ |added \()\d+,)\d{3}(?= tokens)/g, (digits) => `${digits.charAt(0)}00`)
    .replaceAll(/(?<=→ \$0\.\d{4})\d\d\b/g, "00")
    .replaceAll(/(?<=pays after )\d+/g, (rounds) => `${rounds.charAt(0)}${"0".repeat(rounds.length - 1)}`);
  return { ...run, text, cells: run.cells - (run.text.length - text.length) };
}

function sameLength(replacement: string, id: string): string {
  return replacement.padEnd(id.length, "x").slice(0, id.length);
}

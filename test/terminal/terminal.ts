import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { type Clusters, setCharacterWidth } from "./character-width.ts";
import { bytesOfKey, type Key, type Keyboard } from "./keys.ts";
import { type StyledRun, styledLines } from "./styled-lines.ts";

export interface TerminalOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd: string;
  /** On top of a small environment that is the same everywhere: PATH, HOME, TERM, a UTF-8 locale. */
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** What the terminal can do for a program that asks. Default: `legacy`, as most can. */
  readonly keyboard?: Keyboard["protocol"];
  /** Default: `joined`. */
  readonly clusters?: Clusters;
}

/** What a wait is for: a text on the screen, or anything else that is true once more has been shown. */
export type Awaited = string | RegExp | ((screen: readonly string[]) => boolean);

/** A real program on a real pseudo-terminal, and a screen that shows what it prints. */
export interface Terminal {
  readonly pid: number;
  type(text: string): void;
  press(...keys: readonly Key[]): void;
  /** As terminals do it: within brackets where the program has asked for them, with carriage returns for line ends. */
  paste(text: string): void;
  resize(columns: number, rows: number): void;
  /** What is visible, without the blanks at the end of lines. */
  screen(): readonly string[];
  /** Everything from the first line on, what is visible included. Lines that were wrapped stand in several. */
  scrollback(): readonly string[];
  styled(): readonly (readonly StyledRun[])[];
  /** Counted from 0, of the visible part. */
  cursor(): { readonly column: number; readonly row: number };
  /** Whether the cursor is shown, and pastes come in brackets. */
  modes(): {
    readonly cursor: "shown" | "hidden";
    readonly pastes: "bracketed" | "plain";
    readonly buffer: "normal" | "alternate";
  };
  /** Rejects, with everything that is on the screen, when the time is over or the program has ended. */
  waitFor(awaited: Awaited, within?: { readonly withinMillis: number }): Promise<void>;
  /** Everything that came, as it came. */
  raw(): string;
  kill(signal: NodeJS.Signals): void;
  /** The exit code, 128 more than the signal where one ended it. Everything it printed is on the screen by then. */
  readonly exited: Promise<number>;
  /** No process of it is left. */
  close(): Promise<void>;
}

/** Two busy cores may keep a program from its first line for seconds; a wait that is over sooner costs nothing. */
const waitMillis = 20_000;
/** More than any test prints: nothing may leave the scrollback unseen. */
const scrollbackLines = 100_000;

export function openTerminal(options: TerminalOptions): Terminal {
  const {
    command,
    args = [],
    cwd,
    env = {},
    columns = 80,
    rows = 24,
    keyboard = "legacy",
    clusters = "joined",
  } = options;
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: scrollbackLines, allowProposedApi: true });
  setCharacterWidth(screen, clusters);
  const pty = spawn(command, [...args], { cols: columns, rows, cwd, env: { ...baseEnv(), ...env } });
  return new OpenTerminal({ pty, screen, keyboard });
}

function baseEnv(): Record<string, string | undefined> {
  const { PATH, HOME, USERPROFILE, TMPDIR, PALIMPSEST_HOME } = process.env;
  return {
    PATH,
    HOME,
    USERPROFILE,
    TMPDIR,
    PALIMPSEST_HOME,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
  };
}

interface Parts {
  readonly pty: IPty;
  readonly screen: headless.Terminal;
  readonly keyboard: Keyboard["protocol"];
}

interface Wait {
  readonly isMet: () => boolean;
  readonly end: (how: "met" | "ended") => void;
}

class OpenTerminal implements Terminal {
  readonly exited: Promise<number>;
  readonly #pty: IPty;
  readonly #screen: headless.Terminal;
  readonly #waits = new Set<Wait>();
  #raw = "";
  #state: "running" | "ended" = "running";
  #cursor: "shown" | "hidden" = "shown";
  /** What the kitty protocol has been switched to, newest last; empty: legacy keys. */
  #kittyFlags: number[] = [];

  constructor({ pty, screen, keyboard }: Parts) {
    this.#pty = pty;
    this.#screen = screen;
    pty.onData((data) => {
      this.#raw += data;
      screen.write(data, () => this.#look());
    });
    // What a program asks of its terminal is answered as if it were typed.
    screen.onData((data) => this.#send(data));
    if (keyboard === "kitty") this.#speakKitty();
    this.#watchCursor();
    const { promise, resolve } = Promise.withResolvers<number>();
    this.exited = promise;
    pty.onExit(({ exitCode, signal = 0 }) => {
      this.#state = "ended";
      screen.write("", () => {
        resolve(signal === 0 ? exitCode : 128 + signal);
        this.#look();
      });
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  type(text: string): void {
    this.#send(text);
  }

  press(...keys: readonly Key[]): void {
    const protocol = (this.#kittyFlags.at(-1) ?? 0) === 0 ? "legacy" : "kitty";
    const cursorKeys = this.#screen.modes.applicationCursorKeysMode ? "application" : "normal";
    for (const key of keys) this.#send(bytesOfKey(key, { protocol, cursorKeys }));
  }

  paste(text: string): void {
    const sent = text.replaceAll(/\r?\n/g, "\r");
    this.#send(this.#screen.modes.bracketedPasteMode ? `\u001B[200~${sent}\u001B[201~` : sent);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  screen(): readonly string[] {
    return this.#linesFrom(this.#screen.buffer.active.baseY);
  }

  scrollback(): readonly string[] {
    return this.#linesFrom(0);
  }

  styled(): readonly (readonly StyledRun[])[] {
    return styledLines(this.#screen);
  }

  cursor(): { readonly column: number; readonly row: number } {
    const { cursorX, cursorY } = this.#screen.buffer.active;
    return { column: cursorX, row: cursorY };
  }

  modes(): ReturnType<Terminal["modes"]> {
    const { modes, buffer } = this.#screen;
    return {
      cursor: this.#cursor,
      pastes: modes.bracketedPasteMode ? "bracketed" : "plain",
      buffer: buffer.active.type,
    };
  }

  async waitFor(awaited: Awaited, { withinMillis } = { withinMillis: waitMillis }): Promise<void> {
    const isMet = (): boolean => meets(this.screen(), awaited);
    if (isMet()) return;
    const why = this.#state === "ended" ? "ended" : await this.#nextMet(isMet, withinMillis);
    if (why === "met" || isMet()) return;
    throw new Error(`${told(awaited)} did not come: ${wordsByWhy(why, withinMillis)}\n${this.#drawn()}`);
  }

  raw(): string {
    return this.#raw;
  }

  kill(signal: NodeJS.Signals): void {
    this.#pty.kill(signal);
  }

  async close(): Promise<void> {
    if (this.#state === "running") killGroup(this.#pty.pid);
    await this.exited;
    this.#screen.dispose();
  }

  #linesFrom(first: number): readonly string[] {
    const { active } = this.#screen.buffer;
    return Array.from(
      { length: active.length - first },
      (_, at) => active.getLine(first + at)?.translateToString(true) ?? "",
    );
  }

  #nextMet(isMet: () => boolean, withinMillis: number): Promise<"met" | "ended" | "late"> {
    const { promise, resolve } = Promise.withResolvers<"met" | "ended" | "late">();
    const timer = setTimeout(() => resolve("late"), withinMillis);
    const wait: Wait = { isMet, end: resolve };
    this.#waits.add(wait);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waits.delete(wait);
    });
  }

  /** The screen has changed, or will not any more. */
  #look(): void {
    for (const wait of this.#waits) {
      if (wait.isMet()) wait.end("met");
      else if (this.#state === "ended") wait.end("ended");
    }
  }

  #send(text: string): void {
    if (this.#state === "running") this.#pty.write(text);
  }

  /** Push, pop, set and query of https://sw.kovidgoyal.net/kitty/keyboard-protocol, which the screen does not know. */
  #speakKitty(): void {
    const { parser } = this.#screen;
    const first = (params: readonly (number | number[])[], absent: number): number => Number(params[0] ?? absent);
    const onCsi = (prefix: string, act: (params: readonly (number | number[])[]) => void): void => {
      parser.registerCsiHandler({ prefix, final: "u" }, (params) => {
        act(params);
        return true;
      });
    };
    onCsi(">", (params) => this.#kittyFlags.push(first(params, 0)));
    onCsi("<", (params) => this.#kittyFlags.splice(-Math.max(1, first(params, 1))));
    onCsi("=", (params) => this.#kittyFlags.splice(-1, 1, first(params, 0)));
    onCsi("?", () => this.#send(`\u001B[?${this.#kittyFlags.at(-1) ?? 0}u`));
  }

  /** The screen does not tell. What it does with the sequences stays as it is. */
  #watchCursor(): void {
    for (const [final, state] of [["h", "shown"] as const, ["l", "hidden"] as const])
      this.#screen.parser.registerCsiHandler({ prefix: "?", final }, (params) => {
        if (params.includes(25)) this.#cursor = state;
        return false;
      });
  }

  #drawn(): string {
    const { cols } = this.#screen;
    const rule = "─".repeat(cols);
    return [`┌${rule}┐`, ...this.screen().map((line) => `│${line}`), `└${rule}┘`].join("\n");
  }
}

function meets(screen: readonly string[], awaited: Awaited): boolean {
  if (typeof awaited === "function") return awaited(screen);
  const shown = screen.join("\n");
  return typeof awaited === "string" ? shown.includes(awaited) : awaited.test(shown);
}

const told = (awaited: Awaited): string =>
  typeof awaited === "function" ? `what was waited for (${awaited.toString()})` : String(awaited);

const wordsByWhy = (why: "ended" | "late", withinMillis: number): string =>
  why === "ended" ? "the program has ended. The screen:" : `${withinMillis} ms are over. The screen:`;

/** The program leads a group of its own. What it started in other groups is its own care: that is under test. */
function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended in this moment.
  }
}

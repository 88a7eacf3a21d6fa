import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { pauseMillisMax, pauseMillisMin, readCharsPerSecond, typedCharsAtOnce, typedCharsPerSecond } from "./limits.ts";
import type { Readable } from "node:stream";

/** How fast the demo goes. None of these rejects. */
export interface Pace {
  /** Begins a step. A user who hurried skips the pauses of one step only. */
  startStep(): void;
  /** Waits as long as it takes to read this many characters. */
  pauseForReading(chars: number): Promise<void>;
  /** The pause after each typed piece. Undefined if texts are printed at once. */
  readonly typing?: { readonly charsAtOnce: number; pause(): Promise<void> };
}

/** For pipes and CI, and for users who have seen the demo. */
export const fastPace: Pace = { startStep: () => {}, pauseForReading: () => Promise.resolve() };

interface PaceDeps {
  /** Ends early when the signal is aborted. Must not reject. */
  readonly sleep: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** Registers a callback that skips the pauses of the current step. */
  readonly onHurry: (hurry: () => void) => void;
  readonly stop: AbortSignal;
}

export function createReadingPace({ sleep, onHurry, stop }: PaceDeps): Pace {
  let step = new AbortController();
  onHurry(() => step.abort());
  const wait = (time: number): Promise<void> =>
    step.signal.aborted || stop.aborted ? Promise.resolve() : sleep(millis(time), AbortSignal.any([step.signal, stop]));
  return {
    startStep: () => {
      if (step.signal.aborted) step = new AbortController();
    },
    pauseForReading: (chars) => wait(Math.min(pauseMillisMax, pauseMillisMin + (chars * 1_000) / readCharsPerSecond)),
    typing: { charsAtOnce: typedCharsAtOnce, pause: () => wait((typedCharsAtOnce * 1_000) / typedCharsPerSecond) },
  };
}

interface DemoKeys {
  /** Aborted by q, Ctrl-C and Ctrl-D. */
  readonly quit: AbortSignal;
  /** The callback runs on any other key. */
  onHurry(hurry: () => void): void;
  /** Restores the terminal. */
  release(): void;
}

/** Ctrl-C and Ctrl-D too: in raw mode they arrive as keys. */
const quitKeys: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

type Keyboard = Readable & { setRawMode(mode: boolean): unknown; unref?(): unknown };

/** Reads single keys without Enter and without echo. Undefined if stdin is no terminal. */
export function listenForKeys(stdin: Readable): DemoKeys | undefined {
  if (!isKeyboard(stdin)) return undefined;
  const quit = new AbortController();
  const hurries: (() => void)[] = [];
  const press = (bytes: Buffer): void => {
    if (Array.from(bytes.toString()).some((key) => quitKeys.has(key))) quit.abort();
    else for (const hurry of hurries) hurry();
  };
  stdin.setRawMode(true);
  stdin.on("data", press);
  // An earlier reader may have paused it; a listener alone does not resume a paused stream.
  stdin.resume();
  return {
    quit: quit.signal,
    onHurry: (hurry) => void hurries.push(hurry),
    release: () => {
      stdin.off("data", press);
      stdin.setRawMode(false);
      // A stdin that is read keeps the process alive.
      stdin.pause();
    },
  };
}

const isKeyboard = (stdin: Readable): stdin is Keyboard =>
  "isTTY" in stdin && stdin.isTTY === true && "setRawMode" in stdin && typeof stdin.setRawMode === "function";

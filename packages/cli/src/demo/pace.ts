import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { pauseMillisMax, pauseMillisMin, readCharsPerSecond, typedCharsAtOnce, typedCharsPerSecond } from "./limits.ts";
import type { Readable } from "node:stream";

/** How fast the demo goes. None of these rejects. */
export interface Pace {
  /** What comes now is a step of its own: whoever has hurried waits for this one again. */
  startStep(): void;
  /** As long as it takes to read so many characters. */
  pauseForReading(chars: number): Promise<void>;
  /** Behind each piece of what is typed. Undefined where texts come whole. */
  readonly typing?: { readonly charsAtOnce: number; pause(): Promise<void> };
}

/** For machines, and people who have seen it. */
export const fastPace: Pace = { startStep: () => {}, pauseForReading: () => Promise.resolve() };

interface PaceDeps {
  /** Ends early where the signal is raised. Must not reject. */
  readonly sleep: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** Whoever is told to hurry shows the rest of the step at once. */
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
  /** Raised by q and Ctrl-C. */
  readonly quit: AbortSignal;
  /** Any other key. */
  onHurry(hurry: () => void): void;
  /** The terminal is as it was. */
  release(): void;
}

/** Also Ctrl-C and Ctrl-D, which are no signals while keys come one by one. */
const quitKeys: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

type Keyboard = Readable & { setRawMode(mode: boolean): unknown; unref?(): unknown };

/** Keys one by one, without Enter and without an echo. Undefined where there is no keyboard: in a pipe. */
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
  // Whoever has read from it before may have paused it: then nobody listens by itself.
  stdin.resume();
  return {
    quit: quit.signal,
    onHurry: (hurry) => void hurries.push(hurry),
    release: () => {
      stdin.off("data", press);
      stdin.setRawMode(false);
      // A keyboard that is listened to keeps the process alive.
      stdin.pause();
    },
  };
}

const isKeyboard = (stdin: Readable): stdin is Keyboard =>
  "isTTY" in stdin && stdin.isTTY === true && "setRawMode" in stdin && typeof stdin.setRawMode === "function";

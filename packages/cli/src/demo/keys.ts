import type { Readable } from "node:stream";

export interface Keys {
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
export function keysOf(stdin: Readable): Keys | undefined {
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

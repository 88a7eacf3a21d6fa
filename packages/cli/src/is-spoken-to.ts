import type { Readable } from "node:stream";

/** A pipe from which nothing came for so long belongs to somebody else: a shell script, a scheduler. */
const silenceMs = 1_000;

/** Whether a person is at the other end, or something has come from there. What has come is still there to be read. */
export async function isSpokenTo(stdin: Readable): Promise<boolean> {
  if ("isTTY" in stdin && stdin.isTTY === true) return true;
  return new Promise((resolve) => {
    const done = (isSpoken: boolean): void => {
      clearTimeout(timer);
      stdin.off("readable", look);
      stdin.off("end", ended);
      stdin.off("error", ended);
      resolve(isSpoken);
    };
    const look = (): void => {
      const chunk: unknown = stdin.read();
      if (chunk === null) return;
      stdin.unshift(chunk);
      done(true);
    };
    const ended = (): void => done(false);
    const timer = setTimeout(ended, silenceMs);
    stdin.on("readable", look);
    stdin.once("end", ended);
    stdin.once("error", ended);
  });
}

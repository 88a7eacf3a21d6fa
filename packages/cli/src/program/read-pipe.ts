import type { Readable } from "node:stream";

/** A pipe that is silent for so long belongs to another program: a shell script, a scheduler. */
const pipeSilenceMs = 1_000;

/** More than any model takes. */
const pipedBytesMax = 32 * 2 ** 20;

/**
 * What was piped in; empty at a terminal. `optional`: the command can do without it, so a pipe that neither sends
 * anything nor ends is ignored after a moment.
 */
export async function readPipe(stdin: Readable, need: "optional" | "required"): Promise<string> {
  if ("isTTY" in stdin && stdin.isTTY === true) return "";
  const chunks: Buffer[] = [];
  let bytesRead = 0;
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stdin.off("data", take);
      stdin.pause();
      resolve(Buffer.concat(chunks).toString("utf8"));
    };
    const take = (chunk: Buffer | string): void => {
      clearTimeout(timer);
      chunks.push(Buffer.from(chunk));
      bytesRead += chunk.length;
      if (bytesRead >= pipedBytesMax) done();
    };
    const timer = need === "optional" ? setTimeout(done, pipeSilenceMs) : undefined;
    stdin.on("data", take);
    stdin.once("end", done);
    stdin.once("error", done);
    stdin.once("close", done);
  });
}

/** Whether stdin is a terminal or has sent something. The input can still be read afterwards. */
export async function hasInput(stdin: Readable): Promise<boolean> {
  if ("isTTY" in stdin && stdin.isTTY === true) return true;
  return new Promise((resolve) => {
    const done = (hasSpoken: boolean): void => {
      clearTimeout(timer);
      stdin.off("readable", look);
      stdin.off("end", ended);
      stdin.off("error", ended);
      resolve(hasSpoken);
    };
    const look = (): void => {
      const chunk: unknown = stdin.read();
      if (chunk === null) return;
      stdin.unshift(chunk);
      done(true);
    };
    const ended = (): void => done(false);
    const timer = setTimeout(ended, pipeSilenceMs);
    stdin.on("readable", look);
    stdin.once("end", ended);
    stdin.once("error", ended);
  });
}

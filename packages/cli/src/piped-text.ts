import type { Readable } from "node:stream";

/** A pipe from which nothing came for so long belongs to somebody else: a shell script, a scheduler. */
const silenceMs = 1_000;

/** More than any model takes. */
const pipedBytesMax = 32 * 2 ** 20;

/**
 * What was piped in, or nothing at a terminal. `optional`: there is something to do without it, so a pipe that says
 * nothing and does not end either is left alone after a moment.
 */
export async function pipedText(stdin: Readable, need: "optional" | "required"): Promise<string> {
  if ("isTTY" in stdin && stdin.isTTY === true) return "";
  const chunks: Buffer[] = [];
  let taken = 0;
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
      taken += chunk.length;
      if (taken >= pipedBytesMax) done();
    };
    const timer = need === "optional" ? setTimeout(done, silenceMs) : undefined;
    stdin.on("data", take);
    stdin.once("end", done);
    stdin.once("error", done);
    stdin.once("close", done);
  });
}

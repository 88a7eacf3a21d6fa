import type { WriteFailure } from "../ports/blobs.ts";
import { utf8Length } from "../tokens/estimate-block.ts";
import { lineBytesMax } from "../transcript/limits.ts";

/** Fails for a line above the limit: readers skip such a line, so its entry would be missing from the view at the next start. */
export function checkLineSize(line: string): WriteFailure | undefined {
  if (line.length <= lineBytesMax / 3) return undefined;
  const size = utf8Length(line);
  if (size <= lineBytesMax) return undefined;
  const message = `The entry has ${size} bytes; one line holds at most ${lineBytesMax}. Offload its content first.`;
  return { kind: "failed", why: "too-large", message };
}

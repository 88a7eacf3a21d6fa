import type { WriteFailure } from "../ports/blobs.ts";
import { utf8Length } from "../tokens/estimate-block.ts";
import { lineBytesMax } from "../transcript/limits.ts";

/** A line that no reader takes must not be written: it would be gone from the view at the next start. */
export function overLimit(line: string): WriteFailure | undefined {
  if (line.length <= lineBytesMax / 3) return undefined;
  const size = utf8Length(line);
  if (size <= lineBytesMax) return undefined;
  const message = `The entry has ${size} bytes; one line holds at most ${lineBytesMax}. Offload its content first.`;
  return { kind: "failed", why: "too-large", message };
}

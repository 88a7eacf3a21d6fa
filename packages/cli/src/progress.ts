import type { CommandContext } from "./command.ts";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";

/** From this size on reading a log takes long enough to want a sign of life. */
const progressBytesMin = 16 * 1024 * 1024;

/** A line on a terminal's stderr that is wiped at the end; nothing where nobody looks. */
export function progressOn(
  { err }: Pick<CommandContext, "err">,
  { verb, size }: { verb: string; size: number },
): (done: number) => void {
  if (size < progressBytesMin) return () => {};
  return (done) => void err.progress(done >= size - 1 ? "" : `${verb} ${humanBytes(done)} of ${humanBytes(size)}`);
}

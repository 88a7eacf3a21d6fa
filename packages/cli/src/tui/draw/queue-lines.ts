import { figure } from "palimpsest/internal/schema/figure";
import { queueShownMax } from "./limits.ts";
import { cut, type Room } from "./lines.ts";
import { shownLine } from "./shown-text.ts";

/** Messages that wait, oldest first, a line each; of more than a few, how many. */
export function drawQueue(queue: readonly string[], room: Room): readonly string[] {
  const { dim } = room.theme;
  const lines = queue.slice(0, queueShownMax).map((text) => `  ↳ ${shownLine(text)}`);
  const more = queue.length - lines.length;
  const rest = more === 0 ? [] : [`    and ${figure(more)} more`];
  return [...lines, ...rest].map((line) => cut(dim(line), room));
}

import type { Status } from "../state/chat-shape.ts";
import { statusFigures } from "../text/status-words.ts";
import { hung, type Room } from "./lines.ts";

/** Nothing as long as there is room; then what is about to happen, and what a person can do about it. */
export function drawWarning(status: Status, room: Room): readonly string[] {
  const { warning, bad } = room.theme;
  const { level, percentLeft } = statusFigures(status);
  switch (level) {
    case "fine":
      return [];
    case "warning":
      return hung(warningWords(percentLeft, status), { ...room, first: warning("! "), paint: warning });
    case "full":
      return hung("The context is full: /compact or /undo makes room.", { ...room, first: bad("! "), paint: bad });
  }
}

const warningWords = (percentLeft: number, { autoCompact }: Status): string =>
  autoCompact === "on"
    ? `${percentLeft}% left until the conversation is compacted. /compact does it now, and shows the summary first.`
    : `${percentLeft}% of the context is left, and nothing compacts it by itself: /compact makes room.`;

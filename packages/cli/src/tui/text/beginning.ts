import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { messageCharsMax, messageLinesMax } from "../limits.ts";

/** Of a message, as much as is shown folded: all of it where it is short. Costs by what it gives, not by what is there. */
export function beginningOf(text: string): string {
  let end = -1;
  for (let line = 0; line < messageLinesMax; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end === -1 || end > messageCharsMax) break;
  }
  const lines = end === -1 || end === text.length - 1 ? text.length : end;
  if (lines <= messageCharsMax) return text.slice(0, lines);
  return text.slice(0, wholeCharacter(text, messageCharsMax));
}

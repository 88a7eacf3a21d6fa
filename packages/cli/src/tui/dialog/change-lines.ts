import { figure } from "palimpsest/internal/schema/figure";
import { printable } from "palimpsest/internal/schema/printable";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { changeCounts, drawChange } from "../draw/diff-lines.ts";
import type { TextChange } from "../text/call-words.ts";
import type { Theme } from "../theme/theme.ts";
import { bodyCharsMax } from "./limits.ts";
import { type Lines, stacked, words } from "./lines.ts";

/** The whole change, letter by letter: this is decided about, not passed over. */
export function changeLines(change: TextChange, theme: Theme): Lines {
  const [before, after] = [cutText(change.before ?? ""), cutText(change.after)];
  const shown: TextChange = {
    ...change,
    before: change.before === undefined ? undefined : before.text,
    after: after.text,
  };
  const left = before.left + after.left;
  const counts = `  ${changeCounts(shown)} ${change.before === undefined ? "lines, the whole file" : "lines"}`;
  const note = `! ${figure(left)} characters more are not shown`;
  return stacked([
    words(counts, { theme, paint: theme.dim }),
    (width) => drawChange(shown, { width, theme, indent: "  " }),
    ...(left > 0 ? [words(note, { theme, paint: theme.warning })] : []),
  ]);
}

function cutText(text: string): { readonly text: string; readonly left: number } {
  const end = text.length <= bodyCharsMax ? text.length : wholeCharacter(text, bodyCharsMax);
  return { text: printable(text.slice(0, end).replaceAll("\r\n", "\n")), left: text.length - end };
}

import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { type TextChange } from "../../tui/text/call-words.ts";
import { type DiffLine, unifiedDiff } from "../../tui/text/diff.ts";
import { changeLineCharsMax, changeLinesMax } from "./limits.ts";

/** What would be written, line by line, bounded: what is left out is counted, as it is decided about. */
export function changeText({ before, after }: TextChange): readonly string[] {
  const { hunks } = unifiedDiff({ before: before ?? "", after });
  const lines = hunks.flatMap((hunk, index) => [...(index === 0 ? [] : ["    ⋮"]), ...hunk.map(lineText)]);
  const more = lines.length - changeLinesMax;
  return [
    ...lines.slice(0, changeLinesMax),
    ...(more > 0
      ? [`  ! ${figure(more)} more ${plural(more, "line")} of it ${more === 1 ? "is" : "are"} not shown`]
      : []),
  ];
}

const lineText = ({ kind, text }: DiffLine): string => `  ${signByKind[kind]} ${cutText(text)}`;

const signByKind: Readonly<Record<DiffLine["kind"], string>> = { same: " ", removed: "-", added: "+" };

/** What is left out is counted. */
export function cutText(text: string): string {
  if (text.length <= changeLineCharsMax) return text;
  const end = wholeCharacter(text, changeLineCharsMax);
  const more = text.length - end;
  return `${text.slice(0, end)}… (${figure(more)} more ${plural(more, "character")})`;
}

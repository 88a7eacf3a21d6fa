import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import type { Paint, Theme } from "../theme/theme.ts";
import type { TextChange } from "../text/call-words.ts";
import { type Diff, type DiffLine, unifiedDiff } from "../text/diff.ts";
import { cut, hung, type Room } from "./lines.ts";
import { shownText } from "./shown-text.ts";

export interface DiffRoom extends Room {
  readonly indent: string;
  /** Where lines are cut and only so many shown; absent: all of it, wrapped. */
  readonly linesMax?: number;
}

/** What a call would change, with `+` and `-` before the lines, and their numbers where the whole file is written. */
export function drawChange(change: TextChange, room: DiffRoom): readonly string[] {
  const diff = diffOf(change);
  const rows = diff.hunks.flatMap((hunk, index): readonly Row[] => (index === 0 ? hunk : [gap, ...hunk]));
  const digits = isNumbered(change) ? Math.max(0, ...rows.map((row) => String(numberOf(row)).length)) : 0;
  const linesMax = room.linesMax ?? rows.length;
  const lines = rows.slice(0, linesMax).flatMap((row) => drawRow(row, { ...room, digits }));
  const more = rows.length - linesMax;
  if (more <= 0) return lines;
  const told = `${room.indent}… ${figure(more)} more ${plural(more, "line")}`;
  return [...lines, cut(room.theme.dim(told), room)];
}

/** `+3 -2`; what is written whole has only what it adds. */
export function changeCounts(change: TextChange): string {
  const { added, removed } = diffOf(change);
  return change.before === undefined ? `+${figure(added)}` : `+${figure(added)} -${figure(removed)}`;
}

const diffOf = ({ before = "", after }: TextChange): Diff => unifiedDiff({ before, after });

/** A text somewhere in a file, of which nobody knows where, has no numbers. */
const isNumbered = ({ before }: TextChange): boolean => before === undefined;

const gap = { kind: "gap" } as const;
type Row = DiffLine | typeof gap;

const numberOf = (row: Row): number | "" => {
  switch (row.kind) {
    case "gap":
      return "";
    case "removed":
      return row.oldLine;
    case "same":
    case "added":
      return row.newLine;
  }
};

const signByKind: Readonly<Record<DiffLine["kind"], string>> = { same: " ", removed: "-", added: "+" };

const paintOf = (kind: DiffLine["kind"], theme: Theme): Paint =>
  kind === "same" ? theme.dim : kind === "added" ? theme.added : theme.removed;

function drawRow(row: Row, room: DiffRoom & { readonly digits: number }): readonly string[] {
  const { theme, indent, digits } = room;
  const number = digits === 0 ? "" : `${String(numberOf(row)).padStart(digits)} `;
  if (row.kind === "gap") return [cut(theme.dim(`${indent}${number}⋮`), room)];
  const paint = paintOf(row.kind, theme);
  const first = `${indent}${theme.dim(number)}${paint(signByKind[row.kind])} `;
  if (room.linesMax === undefined) return hung(row.text, { ...room, first, paint });
  return [cut(`${first}${paint(shownText(row.text).replaceAll("\n", " "))}`, room)];
}

import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { Paint, Theme } from "../theme.ts";
import type { TextChange } from "../text/call-title.ts";
import { type Diff, type DiffLine, diffTexts } from "palimpsest/internal/text/diff-texts";
import { cutLine, wrapText, type DrawArea } from "./wrap-text.ts";
import { sanitizeText } from "./sanitize-text.ts";

interface DiffDrawOptions extends DrawArea {
  readonly indent: string;
  /** Shows at most this many lines, each cut to the width. If absent, all lines are shown, wrapped. */
  readonly linesMax?: number | undefined;
}

/** A diff with `+` and `-` before its lines, and with line numbers if the whole file is written. */
export function drawChange(change: TextChange, room: DiffDrawOptions): readonly string[] {
  const diff = diffChange(change);
  const rows = diff.hunks.flatMap((hunk, index): readonly DiffRow[] => (index === 0 ? hunk : [gapRow, ...hunk]));
  const digits = isNumbered(change) ? Math.max(0, ...rows.map((row) => String(rowNumber(row)).length)) : 0;
  const linesMax = room.linesMax ?? rows.length;
  const lines = rows.slice(0, linesMax).flatMap((row) => drawRow(row, { ...room, digits }));
  const more = rows.length - linesMax;
  if (more <= 0) return lines;
  const rest = `${room.indent}… ${formatCount(more)} more ${plural(more, "line")}`;
  return [...lines, cutLine(room.theme.dim(rest), room)];
}

/** `+3 -2`; for a file that is written whole only the added lines. */
export function formatChangeCounts(change: TextChange): string {
  const { added, removed } = diffChange(change);
  return change.before === undefined ? `+${formatCount(added)}` : `+${formatCount(added)} -${formatCount(removed)}`;
}

const diffChange = ({ before = "", after }: TextChange): Diff => diffTexts({ before, after });

/** An edit has no line numbers: its position in the file is unknown. */
const isNumbered = ({ before }: TextChange): boolean => before === undefined;

const gapRow = { kind: "gap" } as const;
type DiffRow = DiffLine | typeof gapRow;

const rowNumber = (row: DiffRow): number | "" => {
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

const rowPaint = (kind: DiffLine["kind"], theme: Theme): Paint =>
  kind === "same" ? theme.dim : kind === "added" ? theme.added : theme.removed;

function drawRow(row: DiffRow, room: DiffDrawOptions & { readonly digits: number }): readonly string[] {
  const { theme, indent, digits } = room;
  const number = digits === 0 ? "" : `${String(rowNumber(row)).padStart(digits)} `;
  if (row.kind === "gap") return [cutLine(theme.dim(`${indent}${number}⋮`), room)];
  const paint = rowPaint(row.kind, theme);
  const first = `${indent}${theme.dim(number)}${paint(signByKind[row.kind])} `;
  if (room.linesMax === undefined) return wrapText(row.text, { ...room, first, paint });
  return [cutLine(`${first}${paint(sanitizeText(row.text).replaceAll("\n", " "))}`, room)];
}

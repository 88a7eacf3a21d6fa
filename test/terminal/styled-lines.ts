import type { IBufferCell, Terminal } from "@xterm/headless";

/** Cells beside each other that look the same. A character that takes two cells stands in a run of its own. */
export interface StyledRun {
  /** Of the first cell, counted from 0. */
  readonly column: number;
  readonly cells: number;
  readonly text: string;
  readonly look: Look;
}

export interface Look {
  /** Undefined: the terminal's own. */
  readonly ink: Colour | undefined;
  readonly paper: Colour | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly strike: boolean;
  readonly inverse: boolean;
}

/** One of the 256, or red, green and blue in one number. */
export type Colour =
  | { readonly kind: "palette"; readonly index: number }
  | { readonly kind: "rgb"; readonly rgb: number };

/** The visible lines. Blanks that look like nothing at the end of a line are left out. */
export function styledLines(screen: Terminal): readonly (readonly StyledRun[])[] {
  const { active } = screen.buffer;
  const cell = active.getNullCell();
  return Array.from({ length: screen.rows }, (_, row) => {
    const line = active.getLine(active.baseY + row);
    const runs: StyledRun[] = [];
    for (let column = 0; column < screen.cols; column += 1) {
      const here = line?.getCell(column, cell);
      // The second cell of a wide character has no width of its own.
      if (here === undefined || here.getWidth() === 0) continue;
      addCell(runs, { column, cells: here.getWidth(), text: here.getChars() || " ", look: lookOf(here) });
    }
    return withoutBlankEnd(runs);
  });
}

function addCell(runs: StyledRun[], cell: StyledRun): void {
  const last = runs.at(-1);
  if (last !== undefined && isNarrow(last) && isNarrow(cell) && sameLook(last.look, cell.look))
    runs[runs.length - 1] = { ...last, cells: last.cells + 1, text: last.text + cell.text };
  else runs.push(cell);
}

/** Characters of several code points may be drawn wider than their cells: they begin anew behind them. */
const isNarrow = ({ cells, text }: StyledRun): boolean => text.length === cells;

function withoutBlankEnd(runs: readonly StyledRun[]): readonly StyledRun[] {
  const last = runs.at(-1);
  if (last === undefined || last.look.paper !== undefined || last.look.inverse || last.look.underline) return runs;
  const text = last.text.trimEnd();
  if (text === "") return withoutBlankEnd(runs.slice(0, -1));
  return isNarrow(last) ? [...runs.slice(0, -1), { ...last, text, cells: text.length }] : runs;
}

const sameLook = (one: Look, other: Look): boolean => JSON.stringify(one) === JSON.stringify(other);

function lookOf(cell: IBufferCell): Look {
  return {
    ink: colour(cell.isFgPalette(), cell.isFgRGB(), cell.getFgColor()),
    paper: colour(cell.isBgPalette(), cell.isBgRGB(), cell.getBgColor()),
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    italic: cell.isItalic() !== 0,
    underline: cell.isUnderline() !== 0,
    strike: cell.isStrikethrough() !== 0,
    inverse: cell.isInverse() !== 0,
  };
}

function colour(isPalette: boolean, isRgb: boolean, value: number): Colour | undefined {
  if (isPalette) return { kind: "palette", index: value };
  return isRgb ? { kind: "rgb", rgb: value } : undefined;
}

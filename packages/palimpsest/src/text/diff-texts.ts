import { diffContextLines, diffLinesMax, diffStepsMax } from "./limits.ts";

/** A line as a unified diff shows it, with its number in the old and the new text. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string; readonly oldLine: number; readonly newLine: number }
  | { readonly kind: "removed"; readonly text: string; readonly oldLine: number }
  | { readonly kind: "added"; readonly text: string; readonly newLine: number };

export interface Diff {
  /** Changes with their context, in order. Changes whose context touches are one hunk. */
  readonly hunks: readonly (readonly DiffLine[])[];
  readonly added: number;
  readonly removed: number;
}

/** A line break at the end of both texts ends their last line; at the end of only one of them it is a change. An empty text counts as ended. */
export function diffTexts({ before, after }: { readonly before: string; readonly after: string }): Diff {
  const isEnded = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const split = isEnded ? splitEndedLines : splitLines;
  const steps = lineSteps(split(before), split(after));
  const lines = numberLines(steps);
  return {
    hunks: groupHunks(lines),
    added: steps.filter(({ kind }) => kind === "added").length,
    removed: steps.filter(({ kind }) => kind === "removed").length,
  };
}

const splitLines = (text: string): readonly string[] => (text === "" ? [] : text.split("\n"));
const splitEndedLines = (text: string): readonly string[] => splitLines(text).slice(0, -1);

function lineSteps(oldLines: readonly string[], newLines: readonly string[]): readonly DiffStep[] {
  if (oldLines.length <= diffLinesMax && newLines.length <= diffLinesMax) return diffLines(oldLines, newLines);
  return replaceSteps(oldLines, newLines);
}

function numberLines(steps: readonly DiffStep[]): readonly DiffLine[] {
  let oldLine = 1;
  let newLine = 1;
  return steps.map(({ kind, text }): DiffLine => {
    switch (kind) {
      case "same":
        return { kind, text, oldLine: oldLine++, newLine: newLine++ };
      case "removed":
        return { kind, text, oldLine: oldLine++ };
      case "added":
        return { kind, text, newLine: newLine++ };
    }
  });
}

function groupHunks(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [index, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    const from = Math.max(0, index - diffContextLines);
    const to = Math.min(lines.length, index + diffContextLines + 1);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks.map(({ from, to }) => lines.slice(from, to));
}

interface DiffStep {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/**
 * The shortest list of removed and added lines that turns one text into the other (Myers 1986). Within a change the removed
 * lines come first: of two equally short ways, the one that adds last is taken. Time and memory grow with the square of the
 * differences; beyond `diffStepsMax` of them, everything between the common beginning and end counts as replaced.
 */
export function diffLines(oldLines: readonly string[], newLines: readonly string[]): readonly DiffStep[] {
  const start = commonLength(oldLines, newLines, (lines, index) => lines[index]);
  const [oldRest, newRest] = [oldLines.slice(start), newLines.slice(start)];
  const end = commonLength(oldRest, newRest, (lines, index) => lines.at(-1 - index));
  const middle = diffMiddle(oldRest.slice(0, oldRest.length - end), newRest.slice(0, newRest.length - end));
  return [...oldLines.slice(0, start).map(sameStep), ...middle, ...oldLines.slice(oldLines.length - end).map(sameStep)];
}

const sameStep = (text: string): DiffStep => ({ kind: "same", text });
const removalStep = (text: string): DiffStep => ({ kind: "removed", text });
const additionStep = (text: string): DiffStep => ({ kind: "added", text });

type LineAt = (lines: readonly string[], index: number) => string | undefined;

function commonLength(oldLines: readonly string[], newLines: readonly string[], at: LineAt): number {
  const lengthMax = Math.min(oldLines.length, newLines.length);
  let length = 0;
  while (length < lengthMax && at(oldLines, length) === at(newLines, length)) length += 1;
  return length;
}

function diffMiddle(oldLines: readonly string[], newLines: readonly string[]): readonly DiffStep[] {
  const rows = oldLines.length === 0 || newLines.length === 0 ? undefined : computeRows(oldLines, newLines);
  return rows === undefined ? replaceSteps(oldLines, newLines) : traceSteps(rows, { oldLines, newLines });
}

const replaceSteps = (oldLines: readonly string[], newLines: readonly string[]): readonly DiffStep[] => [
  ...oldLines.map(removalStep),
  ...newLines.map(additionStep),
];

/**
 * For each number of differences, how many old lines can be reached on each diagonal (old minus new index). The last row
 * reaches the end. Undefined if there are too many differences.
 */
function computeRows(oldLines: readonly string[], newLines: readonly string[]): readonly ReachRow[] | undefined {
  const rows: ReachRow[] = [];
  const stepsMax = Math.min(oldLines.length + newLines.length, diffStepsMax);
  for (let steps = 0; steps <= stepsMax; steps += 1) {
    const row = new ReachRow(steps);
    rows.push(row);
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = steps === 0 ? 0 : findEntry(rows[steps - 1], { diagonal, steps }).x;
      while (x < oldLines.length && x - diagonal < newLines.length && oldLines[x] === newLines[x - diagonal]) x += 1;
      row.set(diagonal, x);
      if (x >= oldLines.length && x - diagonal >= newLines.length) return rows;
    }
  }
  return undefined;
}

/** Reached old lines by diagonal, from `-steps` to `steps`. */
class ReachRow {
  readonly #reached: Int32Array;
  readonly #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
    this.#reached = new Int32Array(2 * steps + 1).fill(-1);
  }

  get(diagonal: number): number {
    return this.#reached[diagonal + this.#steps] ?? -1;
  }

  set(diagonal: number, x: number): void {
    this.#reached[diagonal + this.#steps] = x;
  }
}

interface DiagonalEntry {
  /** The diagonal it comes from. */
  readonly from: number;
  readonly x: number;
}

/** From which neighbour the next difference enters a diagonal: an added line from above, a removed one from below. */
function findEntry(
  previousRow: ReachRow | undefined,
  { diagonal, steps }: { diagonal: number; steps: number },
): DiagonalEntry {
  if (previousRow === undefined) throw new Error("the first row is entered from nowhere");
  const [below, above] = [previousRow.get(diagonal - 1), previousRow.get(diagonal + 1)];
  const isAdded = diagonal === -steps || (diagonal !== steps && below < above);
  return isAdded ? { from: diagonal + 1, x: above } : { from: diagonal - 1, x: below + 1 };
}

function traceSteps(
  rows: readonly ReachRow[],
  { oldLines, newLines }: { oldLines: readonly string[]; newLines: readonly string[] },
): readonly DiffStep[] {
  const steps: DiffStep[] = [];
  let [x, y] = [oldLines.length, newLines.length];
  for (let count = rows.length - 1; count >= 0; count -= 1) {
    const entry = count === 0 ? undefined : findEntry(rows[count - 1], { diagonal: x - y, steps: count });
    const until = entry?.x ?? 0;
    for (; x > until; x -= 1, y -= 1) steps.push(sameStep(oldLines[x - 1] ?? ""));
    if (entry === undefined) continue;
    const isAdded = entry.from === x - y + 1;
    steps.push(isAdded ? additionStep(newLines[y - 1] ?? "") : removalStep(oldLines[x - 1] ?? ""));
    if (isAdded) y -= 1;
    else x -= 1;
  }
  return steps.toReversed();
}

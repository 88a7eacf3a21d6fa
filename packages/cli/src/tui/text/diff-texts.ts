import { diffContextLines, diffLinesMax, diffStepsMax } from "../limits.ts";

/** A line as a unified diff shows it, with its number in the old and the new text. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string; readonly oldLine: number; readonly newLine: number }
  | { readonly kind: "removed"; readonly text: string; readonly oldLine: number }
  | { readonly kind: "added"; readonly text: string; readonly newLine: number };

export interface Diff {
  /** Changes with their surroundings, in order; those whose surroundings touch are one. */
  readonly hunks: readonly (readonly DiffLine[])[];
  readonly added: number;
  readonly removed: number;
}

/** A line break at the end of both texts ends their last line; one at the end of only one of them is a change. No text has none. */
export function diffTexts({ before, after }: { readonly before: string; readonly after: string }): Diff {
  const isEnded = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const linesOf = isEnded ? splitEndedLines : splitLines;
  const steps = lineSteps(linesOf(before), linesOf(after));
  const lines = numberLines(steps);
  return {
    hunks: groupHunks(lines),
    added: steps.filter(({ kind }) => kind === "added").length,
    removed: steps.filter(({ kind }) => kind === "removed").length,
  };
}

const splitLines = (text: string): readonly string[] => (text === "" ? [] : text.split("\n"));
const splitEndedLines = (text: string): readonly string[] => splitLines(text).slice(0, -1);

function lineSteps(old: readonly string[], fresh: readonly string[]): readonly DiffStep[] {
  if (old.length <= diffLinesMax && fresh.length <= diffLinesMax) return diffLines(old, fresh);
  return [
    ...old.map((text): DiffStep => ({ kind: "removed", text })),
    ...fresh.map((text): DiffStep => ({ kind: "added", text })),
  ];
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
 * How one list of lines becomes the other, with as few lines removed and added as can be (Myers 1986). Of each change what
 * is removed comes first: of two ways as short, the one that adds last is taken. Time and memory grow with the square of the
 * differences; beyond `diffStepsMax` of them what lies between the common beginning and end counts as replaced.
 */
export function diffLines(old: readonly string[], fresh: readonly string[]): readonly DiffStep[] {
  const start = commonLength(old, fresh, (lines, index) => lines[index]);
  const [oldRest, freshRest] = [old.slice(start), fresh.slice(start)];
  const end = commonLength(oldRest, freshRest, (lines, index) => lines.at(-1 - index));
  const middle = diffMiddle(oldRest.slice(0, oldRest.length - end), freshRest.slice(0, freshRest.length - end));
  return [...old.slice(0, start).map(sameStep), ...middle, ...old.slice(old.length - end).map(sameStep)];
}

const sameStep = (text: string): DiffStep => ({ kind: "same", text });
const removalStep = (text: string): DiffStep => ({ kind: "removed", text });
const additionStep = (text: string): DiffStep => ({ kind: "added", text });

type LineAt = (lines: readonly string[], index: number) => string | undefined;

function commonLength(old: readonly string[], fresh: readonly string[], at: LineAt): number {
  const most = Math.min(old.length, fresh.length);
  let length = 0;
  while (length < most && at(old, length) === at(fresh, length)) length += 1;
  return length;
}

function diffMiddle(old: readonly string[], fresh: readonly string[]): readonly DiffStep[] {
  if (old.length === 0 || fresh.length === 0) return [...old.map(removalStep), ...fresh.map(additionStep)];
  const rows = computeRows(old, fresh);
  return rows === undefined ? [...old.map(removalStep), ...fresh.map(additionStep)] : traceSteps(rows, { old, fresh });
}

/**
 * For each number of differences how far into the old lines one gets, by diagonal (old minus new); the last row reaches
 * the end. Undefined where there are too many.
 */
function computeRows(old: readonly string[], fresh: readonly string[]): readonly ReachRow[] | undefined {
  const rows: ReachRow[] = [];
  const most = Math.min(old.length + fresh.length, diffStepsMax);
  for (let steps = 0; steps <= most; steps += 1) {
    const row = new ReachRow(steps);
    rows.push(row);
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = steps === 0 ? 0 : findEntry(rows[steps - 1], { diagonal, steps }).x;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      row.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return rows;
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

/** By which of its neighbours a diagonal is entered with the next difference: an added line from above, a removed one from below. */
function findEntry(
  before: ReachRow | undefined,
  { diagonal, steps }: { diagonal: number; steps: number },
): DiagonalEntry {
  if (before === undefined) throw new Error("the first row is entered from nowhere");
  const [below, above] = [before.get(diagonal - 1), before.get(diagonal + 1)];
  const isAdded = diagonal === -steps || (diagonal !== steps && below < above);
  return isAdded ? { from: diagonal + 1, x: above } : { from: diagonal - 1, x: below + 1 };
}

function traceSteps(
  rows: readonly ReachRow[],
  { old, fresh }: { old: readonly string[]; fresh: readonly string[] },
): readonly DiffStep[] {
  const steps: DiffStep[] = [];
  let [x, y] = [old.length, fresh.length];
  for (let count = rows.length - 1; count >= 0; count -= 1) {
    const entry = count === 0 ? undefined : findEntry(rows[count - 1], { diagonal: x - y, steps: count });
    const until = entry?.x ?? 0;
    for (; x > until; x -= 1, y -= 1) steps.push(sameStep(old[x - 1] ?? ""));
    if (entry === undefined) continue;
    const isAdded = entry.from === x - y + 1;
    steps.push(isAdded ? additionStep(fresh[y - 1] ?? "") : removalStep(old[x - 1] ?? ""));
    if (isAdded) y -= 1;
    else x -= 1;
  }
  return steps.toReversed();
}

import { diffStepsMax } from "../limits.ts";

export interface Step {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/**
 * How one list of lines becomes the other, with as few lines removed and added as can be (Myers 1986). Of each change what
 * is removed comes first: of two ways as short, the one that adds last is taken. Time and memory grow with the square of the
 * differences; beyond `diffStepsMax` of them what lies between the common beginning and end counts as replaced.
 */
export function stepsBetween(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  const start = commonLength(old, fresh, (lines, index) => lines[index]);
  const [oldRest, freshRest] = [old.slice(start), fresh.slice(start)];
  const end = commonLength(oldRest, freshRest, (lines, index) => lines.at(-1 - index));
  const middle = between(oldRest.slice(0, oldRest.length - end), freshRest.slice(0, freshRest.length - end));
  return [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
}

const same = (text: string): Step => ({ kind: "same", text });
const removed = (text: string): Step => ({ kind: "removed", text });
const added = (text: string): Step => ({ kind: "added", text });

type LineAt = (lines: readonly string[], index: number) => string | undefined;

function commonLength(old: readonly string[], fresh: readonly string[], at: LineAt): number {
  const most = Math.min(old.length, fresh.length);
  let length = 0;
  while (length < most && at(old, length) === at(fresh, length)) length += 1;
  return length;
}

function between(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  if (old.length === 0 || fresh.length === 0) return [...old.map(removed), ...fresh.map(added)];
  const rows = reachedRows(old, fresh);
  return rows === undefined ? [...old.map(removed), ...fresh.map(added)] : walkedBack(rows, { old, fresh });
}

/**
 * For each number of differences how far into the old lines one gets, by diagonal (old minus new); the last row reaches
 * the end. Undefined where there are too many.
 */
function reachedRows(old: readonly string[], fresh: readonly string[]): readonly Row[] | undefined {
  const rows: Row[] = [];
  const most = Math.min(old.length + fresh.length, diffStepsMax);
  for (let steps = 0; steps <= most; steps += 1) {
    const row = new Row(steps);
    rows.push(row);
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = steps === 0 ? 0 : entryOf(rows[steps - 1], { diagonal, steps }).x;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      row.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return rows;
    }
  }
  return undefined;
}

/** Reached old lines by diagonal, from `-steps` to `steps`. */
class Row {
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

interface Entry {
  /** The diagonal it comes from. */
  readonly from: number;
  readonly x: number;
}

/** By which of its neighbours a diagonal is entered with the next difference: an added line from above, a removed one from below. */
function entryOf(before: Row | undefined, { diagonal, steps }: { diagonal: number; steps: number }): Entry {
  if (before === undefined) throw new Error("the first row is entered from nowhere");
  const [below, above] = [before.get(diagonal - 1), before.get(diagonal + 1)];
  const isAdded = diagonal === -steps || (diagonal !== steps && below < above);
  return isAdded ? { from: diagonal + 1, x: above } : { from: diagonal - 1, x: below + 1 };
}

function walkedBack(
  rows: readonly Row[],
  { old, fresh }: { old: readonly string[]; fresh: readonly string[] },
): readonly Step[] {
  const steps: Step[] = [];
  let [x, y] = [old.length, fresh.length];
  for (let count = rows.length - 1; count >= 0; count -= 1) {
    const entry = count === 0 ? undefined : entryOf(rows[count - 1], { diagonal: x - y, steps: count });
    const until = entry?.x ?? 0;
    for (; x > until; x -= 1, y -= 1) steps.push(same(old[x - 1] ?? ""));
    if (entry === undefined) continue;
    const isAdded = entry.from === x - y + 1;
    steps.push(isAdded ? added(fresh[y - 1] ?? "") : removed(old[x - 1] ?? ""));
    if (isAdded) y -= 1;
    else x -= 1;
  }
  return steps.toReversed();
}

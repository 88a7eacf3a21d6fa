/** Higher is better; undefined where the letters do not occur in this order. Letters of either case. */
export const fuzzyScore = (typed: string, name: string): number | undefined =>
  fuzzyScoreLowercase(typed.toLowerCase(), name.toLowerCase());

interface MatchInput<Name extends string> {
  readonly typed: string;
  readonly names: Iterable<Name>;
  readonly most: number;
}

/** The best of them, best first; among equals the shorter one, then in the order of the alphabet. One pass over all names. */
export function bestMatches<Name extends string>({ typed, names, most }: MatchInput<Name>): readonly Name[] {
  const wanted = typed.toLowerCase();
  const best = new BestNames<Name>(most);
  for (const name of names) {
    const score = fuzzyScoreLowercase(wanted, name.toLowerCase());
    if (score !== undefined) best.offer({ name, score });
  }
  return best.names;
}

interface ScoredName<Name> {
  readonly name: Name;
  readonly score: number;
}

/** The best few of many, as they come. */
export class BestNames<Name extends string> {
  readonly #most: number;
  readonly #best: ScoredName<Name>[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get names(): readonly Name[] {
    return this.#best.map(({ name }) => name);
  }

  offer(found: ScoredName<Name>): void {
    const worst = this.#best[this.#most - 1];
    if (worst !== undefined && compareNames(found, worst) >= 0) return;
    const at = this.#best.findLastIndex((other) => compareNames(other, found) <= 0);
    this.#best.splice(at + 1, 0, found);
    if (this.#best.length > this.#most) this.#best.pop();
  }
}

/** Negative where the first one stands ahead of the second. */
function compareNames(one: ScoredName<string>, other: ScoredName<string>): number {
  const byScore = other.score - one.score || one.name.length - other.name.length;
  if (byScore !== 0 || one.name === other.name) return byScore;
  return one.name < other.name ? -1 : 1;
}

/** A letter that follows the one before, begins a word or stands in the file's own name says more than one somewhere. */
const followsPoints = 5;
const wordPoints = 8;
const ownNamePoints = 3;
const wholeNamePoints = 40;
const gapPoints = 1;
/** A gap of any length is one gap: deep folders are no fault of a file. */
const gapMax = 6;

/**
 * Of texts in small letters. The letters are looked for from the end of the path, as its own name is what people type.
 * Runs for every file at every key: it makes no strings.
 */
export function fuzzyScoreLowercase(typed: string, name: string): number | undefined {
  let left = typed.length - 1;
  let score = 0;
  let last = name.length;
  let ownName = -1;
  for (let at = name.length - 1; at >= 0 && left >= 0; at -= 1) {
    const code = name.charCodeAt(at);
    if (code === slash && ownName === -1 && at < name.length - 1) ownName = at + 1;
    if (code !== typed.charCodeAt(left)) continue;
    const gap = last - at - 1;
    if (gap === 0) score += followsPoints;
    else if (left < typed.length - 1) score -= Math.min(gap, gapMax) * gapPoints;
    if (at === 0 || isWordBreak(name.charCodeAt(at - 1))) score += wordPoints;
    if (ownName === -1) score += ownNamePoints;
    last = at;
    left -= 1;
  }
  if (left >= 0) return undefined;
  const start = ownName === -1 ? name.lastIndexOf("/", name.length - 2) + 1 : ownName;
  return typed !== "" && name.startsWith(typed, start) ? score + wholeNamePoints : score;
}

const slash = 47;
/** `/`, `-`, `_`, `.` and space. */
const isWordBreak = (code: number): boolean =>
  code === slash || code === 45 || code === 95 || code === 46 || code === 32;

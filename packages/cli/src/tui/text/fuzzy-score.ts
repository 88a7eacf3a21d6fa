/** Higher is better. Undefined if the letters do not occur in this order. Ignores case. */
export const fuzzyScore = (typed: string, name: string): number | undefined =>
  fuzzyScoreLowercase(typed.toLowerCase(), name.toLowerCase());

interface MatchInput<Name extends string> {
  readonly typed: string;
  readonly names: Iterable<Name>;
  readonly most: number;
}

/** The best matches, best first; ties are ordered by length, then by code units. One pass over all names. */
export function bestMatches<Name extends string>({ typed, names, most }: MatchInput<Name>): readonly Name[] {
  const query = typed.toLowerCase();
  const best = new BestNames<Name>(most);
  for (const name of names) {
    const score = fuzzyScoreLowercase(query, name.toLowerCase());
    if (score !== undefined) best.offer({ name, score });
  }
  return best.names;
}

interface ScoredName<Name> {
  readonly name: Name;
  readonly score: number;
}

/** Keeps the best few of the names it is offered. */
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

/** Negative if the first name ranks before the second. */
function compareNames(one: ScoredName<string>, other: ScoredName<string>): number {
  const byScore = other.score - one.score || one.name.length - other.name.length;
  if (byScore !== 0 || one.name === other.name) return byScore;
  return one.name < other.name ? -1 : 1;
}

/** A letter scores if it follows the previous match, begins a word, or is in the last part of the path. */
const followsPoints = 5;
const wordPoints = 8;
const ownNamePoints = 3;
const wholeNamePoints = 40;
const gapPoints = 1;
/** Longer gaps cost no more: a file should not rank lower for being in a deep folder. */
const gapMax = 6;

/**
 * Both texts must be in lower case. Searches from the end of the path, because users type the file's name. Runs for every
 * file at every key, so it allocates no strings.
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

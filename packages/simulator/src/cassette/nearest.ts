import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { comparedCassettesMax } from "../limits.ts";
import { textDifference } from "../trace/text-difference.ts";
import { type Comparable, withoutKinds } from "./request-key.ts";

export interface Candidate {
  readonly file: string;
  readonly request: Comparable;
}

/** What to tell somebody whose request was not recorded. */
export function missText(asked: Comparable, candidates: readonly Candidate[]): string {
  const what = `No cassette answers ${asked.method} ${asked.path}.`;
  const nearest = nearestOf(asked, candidates);
  if (nearest === undefined) return `${what} ${recordedPlaces(candidates)}`;
  const { path, recorded, now } = differencesOf(nearest.request.body, asked.body).next().value ?? nothing;
  return `${what} The nearest is ${nearest.file}; the first difference is at ${path}: ${told(recorded, now)}.`;
}

function recordedPlaces(candidates: readonly Candidate[]): string {
  const places = [...new Set(candidates.map(({ request }) => `${request.method} ${request.path}`))];
  if (places.length === 0) return "The folder holds none at all.";
  const more = places.length > placesShownMax ? ` and ${places.length - placesShownMax} more` : "";
  return `Recorded: ${places.slice(0, placesShownMax).join(", ")}${more}.`;
}

const placesShownMax = 5;

/** The fewest differences, then the most text in common where they differ; of equals the one recorded first. */
function nearestOf(asked: Comparable, candidates: readonly Candidate[]): Candidate | undefined {
  const alike = candidates.filter(({ request }) => request.method === asked.method && request.path === asked.path);
  let best: (Distance & { readonly candidate: Candidate }) | undefined;
  for (const candidate of alike.slice(-comparedCassettesMax)) {
    const differences = differencesOf(candidate.request.body, asked.body);
    const distance = distanceOf(differences, best?.count ?? Number.POSITIVE_INFINITY);
    if (best === undefined || isNearer(distance, best)) best = { candidate, ...distance };
  }
  return best?.candidate;
}

interface Distance {
  readonly count: number;
  readonly sharedChars: number;
}

const isNearer = (one: Distance, other: Distance): boolean =>
  one.count === other.count ? one.sharedChars > other.sharedChars : one.count < other.count;

/** No further than what decides. */
function distanceOf(differences: Iterable<Difference>, countMax: number): Distance {
  let count = 0;
  let sharedChars = 0;
  for (const { recorded, now } of differences) {
    count += 1;
    if (count > countMax) break;
    if (typeof recorded === "string" && typeof now === "string") sharedChars += sharedCharsOf(recorded, now);
  }
  return { count, sharedChars };
}

/** At the beginning and at the end of both. */
function sharedCharsOf(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let start = 0;
  while (start < length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < length - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return start + end;
}

interface Difference {
  readonly path: string;
  readonly recorded: Json | undefined;
  readonly now: Json | undefined;
}

const nothing: Difference = { path: "body", recorded: undefined, now: undefined };

/** Leaf by leaf, in the order of the recorded fields, those that are new behind them. */
function* differencesOf(
  recorded: Json | undefined,
  now: Json | undefined,
  path = "",
): Generator<Difference, undefined> {
  if (isArray(recorded) && isArray(now)) {
    for (let at = 0; at < Math.max(recorded.length, now.length); at += 1)
      yield* differencesOf(recorded[at], now[at], below(path, String(at)));
  } else if (isObject(recorded) && isObject(now)) {
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(now)]))
      yield* differencesOf(recorded[name], now[name], below(path, name));
  } else if (recorded !== now && !isSameMasked(recorded, now)) {
    yield { path: path === "" ? nothing.path : path, recorded, now };
  }
}

const isSameMasked = (one: Json | undefined, other: Json | undefined): boolean =>
  typeof one === "string" && typeof other === "string" && withoutKinds(one) === withoutKinds(other);

const below = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function told(recorded: Json | undefined, now: Json | undefined): string {
  const difference = textDifference(shown(recorded), shown(now));
  if (difference === undefined) return "nothing that can be shown";
  const { before, old, now: next, after } = difference;
  return `recorded ${before}${old}${after}, asked ${before}${next}${after}`;
}

const shown = (value: Json | undefined): string => (value === undefined ? "nothing" : JSON.stringify(value));

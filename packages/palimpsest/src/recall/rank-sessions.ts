import type { Collection, Field } from "../ports/ranker.ts";
import { bm25, type Bm25Setting, type CountedDocument } from "./bm25.ts";
import { dayNumber, findDayRanges, type DayRange } from "./day-range.ts";

const sessionSetting: Bm25Setting = { saturation: 1.2, lengthShare: 0.4 };
/** For single passages without their neighbours. */
export const passageSetting: Bm25Setting = { saturation: 0.9, lengthShare: 0.4 };

/** A session with the counts of the query's stems. */
export interface CountedSession {
  readonly session: string;
  /** ISO 8601. */
  readonly at: string | undefined;
  readonly whole: CountedDocument;
  /** What the user said in it. */
  readonly user: CountedDocument;
  /** BM25 of its passages with `passageSetting`, the best three at least. */
  readonly passageScores: readonly number[];
}

export interface RankedSession {
  readonly session: string;
  readonly score: number;
}

/** Best first. */
export function rankSessions({
  query,
  now,
  sessions,
  collection,
}: {
  readonly query: string;
  /** ISO 8601: what "last week" in the query refers to. */
  readonly now?: string | undefined;
  readonly sessions: readonly CountedSession[];
  readonly collection: Collection;
}): readonly RankedSession[] {
  const whole = scaleToBest(sessions.map((session) => scoreSession(session.whole, collection.sessions)));
  const user = scaleToBest(sessions.map((session) => scoreSession(session.user, collection.userSessions)));
  const passages = scaleToBest(sessions.map(({ passageScores }) => sumBest(passageScores)));
  const today = now === undefined ? undefined : dayNumber(now);
  const ranges = today === undefined ? [] : findDayRanges(query.toLowerCase(), today);
  return sessions
    .map(({ session, at }, number) => ({
      session,
      score: (whole[number] ?? 0) + (passages[number] ?? 0) + (user[number] ?? 0) + timeWeight * closeness(at, ranges),
    }))
    .toSorted((left, right) => right.score - left.score || (left.session < right.session ? -1 : 1));
}

/** BM25 of a whole session. */
export function scoreSession(document: CountedDocument, field: Field): number {
  return bm25(document, { field, setting: sessionSetting });
}

const timeWeight = 0.3;
/** In days: how fast a session outside the asked time loses. */
const gapScale = 4;

/** 1 if the session lies in one of the ranges, less the further away it is. */
function closeness(at: string | undefined, ranges: readonly DayRange[]): number {
  const day = at === undefined ? undefined : dayNumber(at);
  if (day === undefined || ranges.length === 0) return 0;
  const gap = Math.min(...ranges.map(({ from, to }) => Math.max(0, from - day, day - to)));
  return gap === 0 ? 1 : 0.5 * Math.exp(-gap / gapScale);
}

const bestPassages = 3;

function sumBest(scores: readonly number[]): number {
  return scores
    .toSorted((left, right) => right - left)
    .slice(0, bestPassages)
    .reduce((sum, score) => sum + score, 0);
}

function scaleToBest(scores: readonly number[]): readonly number[] {
  const best = Math.max(0, ...scores);
  return best === 0 ? scores.map(() => 0) : scores.map((score) => score / best);
}

import type { Candidate, Collection, RankRequest } from "../ports/ranker.ts";
import { wordWeight } from "./bm25.ts";
import { calendarDay, dayAt, dayNumber, findDayRanges, type WrittenDate } from "./day-range.ts";
import { numberWords, readCues, timeWords, type QueryCues } from "./query-cues.ts";
import { scoreTerms } from "./score-terms.ts";
import { scoreWindows } from "./score-windows.ts";
import { queryStems, roles, stemText } from "./stem.ts";

/** The parts of a passage's score, each from 0 to about 1 or 2. */
export interface Features {
  /** BM25 of the passage with the words around it. */
  readonly window: number;
  /** BM25 of its session, over that of the best session. */
  readonly session: number;
  /** Share of the query's words that are in it or near it. */
  readonly share: number;
  /** It was said by whom the question names. */
  readonly speaker: number;
  /** It ends with a question mark: it asks, too. */
  readonly question: number;
  /** It follows a question. */
  readonly answer: number;
  /** A time is asked for, and it has a time word. */
  readonly when: number;
  /** An amount is asked for, and it has a number. */
  readonly many: number;
  /** It was said in the month that the question names. */
  readonly month: number;
  /** It was said on the day that the question names, or soon after. */
  readonly day: number;
  /** It tells of the day that the question names: "yesterday", said a day later. */
  readonly toldDay: number;
  /** It tells of the month that the question names. */
  readonly toldMonth: number;
  /** Share of the query's words in the questions that the passage before it ends with: what it answers. */
  readonly asked: number;
  /** Share of the query's words, apart from the speakers' names, that are in it or in the passage before it. */
  readonly topic: number;
  /** It is long enough to tell something. */
  readonly length: number;
  /** It is the first of its session: people begin with their news. */
  readonly opening: number;
  /** BM25 of its identifiers, paths and words as written. */
  readonly terms: number;
  /** Share of them that are in the call that it answers. */
  readonly call: number;
  /** The largest share in one line, to the power of three: most of a line counts, two common words don't. */
  readonly line: number;
  /** It has the whole query as written. */
  readonly whole: number;
}

/** What a part counts; nothing if it is absent. */
export type Weights = Readonly<Partial<Record<keyof Features, number>>>;

/** In the order of the candidates. Features that read a text again are left out if they have no weight. */
export function passageFeatures(request: RankRequest, weights: Weights): readonly Partial<Features>[] {
  const { query, candidates, collection } = request;
  const spoken = spokenFeatures(request, weights);
  if (weights.whole === undefined || collection.terms === undefined) return spoken;
  return scoreTerms(query, { candidates, field: collection.terms }).map(({ score, call, line, whole }, number) => ({
    ...spoken[number],
    terms: score,
    call,
    line: line ** 3,
    whole,
  }));
}

/** A passage with as many stems or more is long. */
const longStems = 20;

function spokenFeatures(
  { query, candidates, collection, sessionScores }: RankRequest,
  { asked }: Weights,
): readonly Partial<Features>[] {
  const speakers = new Set(candidates.map(({ speaker }) => speaker));
  const cues = readCues(query, speakers);
  const stems = queryStems(query);
  const words = new WordShares(stems, collection);
  const names = new Set([...speakers].flatMap((speaker) => (roles.has(speaker) ? [] : stemText(speaker))));
  const topic = new WordShares(
    stems.filter((stem) => !names.has(stem)),
    collection,
  );
  const bestSession = sessionScores.values().reduce((best, score) => Math.max(best, score), 0);
  const needsText = cues.asksWhen || cues.asksHowMany || cues.dates.length > 0;
  return scoreWindows(stems, { candidates, collection }).map(({ passage, before, score, share }) => {
    const text = needsText ? passage.text.toLowerCase() : "";
    const isAnswer = before !== undefined && endsInQuestion(before);
    return {
      window: score,
      session: bestSession === 0 ? 0 : (sessionScores.get(passage.session) ?? 0) / bestSession,
      share,
      speaker: isTrue(passage.speaker === cues.speaker),
      question: isTrue(endsInQuestion(passage)),
      answer: isTrue(isAnswer),
      when: isTrue(cues.asksWhen && timeWords.test(text)),
      many: isTrue(cues.asksHowMany && numberWords.test(text)),
      ...dateFeatures({ dates: cues.dates, at: passage.at, text }),
      asked:
        asked !== undefined && isAnswer && words.share(before.stems) > 0
          ? words.share(stemText(questionsIn(before.text)))
          : 0,
      topic: topic.share(passage.stems, before?.stems),
      length: Math.min(1, passage.stems.length / longStems),
      opening: isTrue(passage.position === 0),
    };
  });
}

/** How much of a query, by the weight of its words, some texts have. */
class WordShares {
  readonly #weighed: readonly (readonly [stem: string, weight: number])[];
  readonly #sum: number;

  constructor(stems: readonly string[], { passages }: Collection) {
    this.#weighed = stems.map((stem) => [stem, wordWeight(passages, stem)]);
    this.#sum = this.#weighed.reduce((sum, [, weight]) => sum + weight, 0);
  }

  share(one: readonly string[], other: readonly string[] = []): number {
    let share = 0;
    for (const [stem, weight] of this.#weighed) if (one.includes(stem) || other.includes(stem)) share += weight;
    return this.#sum === 0 ? 0 : share / this.#sum;
  }
}

/** The sentences that end with a question mark. */
const questionsIn = (text: string): string =>
  text
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => sentence.endsWith("?"))
    .join(" ");

const isTrue = (holds: boolean): 0 | 1 => (holds ? 1 : 0);

const endsInQuestion = ({ text }: Candidate): boolean => /\?["')\s]*$/.test(text.slice(-8));

type DateFeatures = Pick<Features, "month" | "day" | "toldDay" | "toldMonth">;

const noDates: DateFeatures = { month: 0, day: 0, toldDay: 0, toldMonth: 0 };

/** How the dates that a question names fit a text that was said at a time. The text is in lower case. */
export function dateFeatures({
  dates,
  at,
  text,
}: {
  readonly dates: QueryCues["dates"];
  readonly at: string | undefined;
  readonly text: string;
}): DateFeatures {
  const said = at === undefined || dates.length === 0 ? undefined : dayNumber(at);
  if (said === undefined) return noDates;
  const told = findDayRanges(text, said);
  const features = { ...noDates };
  for (const date of dates) {
    if (isInMonth(said, date)) features.month = 1;
    for (const { from, to } of told)
      if (to - from < toldDaysMax && isInMonth((from + to) >> 1, date)) features.toldMonth = 1;
    if (date.day === undefined) continue;
    const asked = dayAt({ year: date.year ?? calendarDay(said).year, month: date.month, day: date.day });
    features.day = Math.max(features.day, closenessAfter(said - asked));
    if (said === asked) features.toldDay = Math.max(features.toldDay, 0.5);
    for (const { from, to } of told)
      if (from <= asked && asked <= to) features.toldDay = Math.max(features.toldDay, 1 / Math.sqrt(to - from + 1));
  }
  return features;
}

/** A longer time says little about a month. */
const toldDaysMax = 60;

function isInMonth(day: number, { month, year }: WrittenDate): boolean {
  const calendar = calendarDay(day);
  return calendar.month === month && (year === undefined || calendar.year === year);
}

/** People tell of a day on it or within a week. */
function closenessAfter(days: number): number {
  if (days >= 0 && days <= 8) return 1 - days / 10;
  return days >= -7 && days < 0 ? 0.4 : 0;
}

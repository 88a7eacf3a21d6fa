import type { Weights } from "../../packages/palimpsest/src/recall/passage-features.ts";
import { rankPassages, weightsByProfile } from "../../packages/palimpsest/src/recall/rank-passages.ts";
import { type Conversation, type Question, readLocomo } from "./locomo.ts";
import { type Haystack, readLongMemEval } from "./longmemeval.ts";
import { Means, recallAt, type Row, type Table } from "./measures.ts";
import { type CandidateSource, everyPassage, MemorySource, type Plan } from "./memory-source.ts";
import { type IndexedPassage, openIndexSource } from "./index-source.ts";

/** Where the candidates of a run come from. */
export interface Finder {
  readonly plans: readonly Plan[];
  /** For one collection of passages. */
  readonly openSource: (passages: readonly IndexedPassage[]) => Promise<CandidateSource & Partial<AsyncDisposable>>;
}

/** The plans that an index can choose from: over many sessions an OR of all words reads too much. */
const plans: readonly Plan[] = [
  everyPassage,
  { name: "best 100 by all words", rarest: Infinity, found: 100 },
  { name: "best 100 by the 6 rarest", rarest: 6, found: 100 },
  { name: "best 100 by the 4 rarest", rarest: 4, found: 100 },
  { name: "best 100 by the 3 rarest", rarest: 3, found: 100 },
];

export const memoryFinder: Finder = { plans, openSource: async (passages) => new MemorySource(passages) };

export const indexFinder: Finder = {
  plans: [{ name: "found by the index", rarest: Infinity, found: Infinity }],
  openSource: openIndexSource,
};

type RankQuestion = (source: CandidateSource, question: Question) => Promise<readonly number[]>;

const rankWith =
  (plan: Plan, weights?: Weights): RankQuestion =>
  async (source, { query, now }) =>
    distinctKeys(rankPassages({ query, now, ...(await source.find(query, plan)) }, weights));

/** An index splits long turns. */
const distinctKeys = (ranked: readonly { readonly key: number }[]): readonly number[] => [
  ...new Set(ranked.map(({ key }) => key)),
];

const windowOnly: Weights = { window: 1 };

export async function locomoTable(file: string, finder: Finder): Promise<Table> {
  const conversations = readLocomo(file);
  const { openSource } = finder;
  const inMemory = memoryFinder.openSource;
  const rows = [
    await measureLocomo(conversations, { name: "BM25", rank: rankPlain, openSource: inMemory }),
    await measureLocomo(conversations, {
      name: "window BM25",
      rank: rankWith(everyPassage, windowOnly),
      openSource: inMemory,
    }),
  ];
  for (const plan of finder.plans)
    rows.push(await measureLocomo(conversations, { name: `ranker, ${plan.name}`, rank: rankWith(plan), openSource }));
  return {
    title: `LoCoMo, turns: conversations 6-10 (${countQuestions(conversations.slice(firstTestConversation))} questions), all ten beside`,
    rows,
  };
}

/** What the ranker loses without each of its parts. */
export async function partsTable(file: string): Promise<Table> {
  const conversations = readLocomo(file);
  const rows: Row[] = [];
  const measure = async (name: string, weights: Weights): Promise<void> => {
    rows.push(
      await measureLocomo(conversations, {
        name,
        rank: rankWith(everyPassage, weights),
        openSource: memoryFinder.openSource,
      }),
    );
  };
  const { people } = weightsByProfile;
  await measure("all parts", people);
  for (const part of parts) {
    const without = Object.fromEntries(Object.entries(people).filter(([name]) => !part.includes(name)));
    await measure(`without ${part.join(", ")}`, without);
  }
  return { title: "LoCoMo, turns: what each part adds", rows };
}

const parts: readonly (readonly string[])[] = [
  ["session"],
  ["share"],
  ["speaker"],
  ["question", "answer"],
  ["when", "many"],
  ["month", "day"],
  ["toldDay", "toldMonth"],
  ["asked"],
  ["topic"],
  ["length", "opening"],
];

/** The conversations before it are for tuning. */
const firstTestConversation = 5;

/** Only for sources in memory. */
const rankPlain: RankQuestion = async (source, { query }) =>
  source instanceof MemorySource ? source.rankPlain(query, { saturation: 0.6, lengthShare: 0.3 }) : [];

const countQuestions = (conversations: readonly Conversation[]): number =>
  conversations.reduce((sum, { questions }) => sum + questions.length, 0);

async function measureLocomo(
  conversations: readonly Conversation[],
  {
    name,
    rank,
    openSource,
  }: { readonly name: string; readonly rank: RankQuestion; readonly openSource: Finder["openSource"] },
): Promise<Row> {
  const [means, tuned, all] = [new Means(), new Means(), new Means()];
  for (const [number, { passages, questions }] of conversations.entries()) {
    const source = await openSource(passages);
    for (const question of questions) {
      const figures = recallAt(await rank(source, question), question.gold);
      for (const column of ["R@5", "R@10", "hit@5", "hit@10"] as const) {
        if (number >= firstTestConversation) means.add({ [column]: figures[column] });
        else tuned.add({ [`1-5 ${column}`]: figures[column] });
        all.add({ [`all ${column}`]: figures[column] });
      }
    }
    await source[Symbol.asyncDispose]?.();
  }
  return { name, figures: { ...means.row(name).figures, ...all.row(name).figures, ...tuned.row(name).figures } };
}

/** One row for each plan; sessions are ranked apart from turns. */
export async function longMemEvalTable(
  { title, folder }: { readonly title: string; readonly folder: string },
  finder: Finder,
): Promise<Table> {
  const means = new Map<string, Means>();
  const meansFor = (name: string): Means => {
    const known = means.get(name) ?? new Means();
    means.set(name, known);
    return known;
  };
  let questions = 0;
  for (const haystack of readLongMemEval(folder)) {
    questions += 1;
    const source = await finder.openSource(haystack.passages);
    const sessions = await rankSessions(source, haystack);
    if (sessions !== undefined)
      for (const part of ["all questions", haystack.part === "test" ? "two thirds for the test" : "third for tuning"])
        meansFor(`${part}: sessions`).add(sessions);
    for (const plan of haystack.question.gold.size === 0 ? [] : finder.plans)
      meansFor(`turns, ${plan.name}`).add(await rankTurns(source, { plan, haystack }));
    const plain = new MemorySource(haystack.passages);
    if (haystack.question.gold.size > 0)
      meansFor("turns, BM25").add(turnFigures(await rankPlain(plain, haystack.question), haystack));
    await source[Symbol.asyncDispose]?.();
  }
  return { title: `${title} (${questions} questions)`, rows: [...means].map(([name, one]) => one.row(name)) };
}

async function rankSessions(
  source: CandidateSource,
  { question, goldSessions }: Haystack,
): Promise<Readonly<Record<string, number>> | undefined> {
  const ranked = await source.rankSessions?.(question.query, question.now);
  if (ranked === undefined) return undefined;
  const figures = recallAt(
    ranked.map(({ session }) => session),
    goldSessions,
  );
  return { "any@5": figures["hit@5"], "all@5": figures["all@5"], "all@10": figures["all@10"] };
}

async function rankTurns(
  source: CandidateSource,
  { plan, haystack }: { readonly plan: Plan; readonly haystack: Haystack },
): Promise<Readonly<Record<string, number>>> {
  return turnFigures(await rankWith(plan)(source, haystack.question), haystack);
}

function turnFigures(ranked: readonly number[], { question }: Haystack): Readonly<Record<string, number>> {
  const figures = recallAt(ranked, question.gold);
  return { "R@5": figures["R@5"], "R@10": figures["R@10"] };
}

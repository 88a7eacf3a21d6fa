import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { stemText } from "../../packages/palimpsest/src/recall/stem.ts";
import { LogIndex } from "../../packages/palimpsest/src/session/log-index.ts";
import { entriesSource } from "../../packages/palimpsest/src/session/recall-sources.ts";
import { rankPassages } from "../../packages/palimpsest/src/recall/rank-passages.ts";
import { type CodingPassage, type CodingSession, type NeededFact, readCodingSessions } from "./coding.ts";
import { Means, recallAt, type Table } from "./measures.ts";
import { MemorySource } from "./memory-source.ts";
import type { Finder } from "./conversation-tables.ts";

/**
 * Facts that were needed later (a result whose line or identifiers a later reply repeats, with no other source), searched in
 * their session up to that reply.
 */
export async function codingTables(folder: string, finder: Finder): Promise<readonly Table[]> {
  const askers = ["byAgent", "byUser"] as const;
  const tallies = { byAgent: new Tally(), byUser: new Tally() };
  const lines = new Tally();
  for await (const session of readCodingSessions(folder)) {
    using files = new TextFiles(session.passages);
    for (const asker of askers)
      for (const fact of session[asker]) await measureFact({ session, fact, tally: tallies[asker], finder, files });
    await measureLines(session, { tally: lines, finder });
  }
  return [
    tallies.byAgent.table("Coding sessions: facts needed later, asked for in the words of the reply that needed them"),
    tallies.byUser.table("Coding sessions: facts of earlier turns, asked for in the words of the user's request"),
    lines.table("Coding sessions: lines of 40 or more characters, as written"),
  ];
}

class Tally {
  readonly #means = new Map<string, Means>();
  #questions = 0;

  ask(): void {
    this.#questions += 1;
  }

  add(
    name: string,
    { ranked, gold }: { readonly ranked: readonly string[]; readonly gold: ReadonlySet<string> },
  ): void {
    const means = this.#means.get(name) ?? new Means();
    this.#means.set(name, means);
    const figures = recallAt(ranked, gold);
    means.add({ "hit@5": figures["hit@5"], "hit@10": figures["hit@10"] });
  }

  table(title: string): Table {
    return { title: `${title} (${this.#questions})`, rows: [...this.#means].map(([name, means]) => means.row(name)) };
  }
}

interface FactMeasure {
  readonly session: CodingSession;
  readonly fact: NeededFact;
  readonly tally: Tally;
  readonly finder: Finder;
  readonly files: TextFiles;
}

async function measureFact({ session, fact, tally, finder, files }: FactMeasure): Promise<void> {
  const passages = session.passages.slice(0, fact.passages);
  const query = fact.query.replaceAll(/["“”]/g, " ");
  const gold = new Set([fact.id]);
  tally.ask();
  tally.add("BM25", { ranked: rankPlain(passages, query), gold });
  tally.add("ripgrep, texts by words found", { ranked: files.rank(query, fact.passages), gold });
  const index = new LogIndex(entriesSource(session.entries.slice(0, fact.entries)));
  tally.add("search of one session", { ranked: await searchSession(index, { query, gold }), gold });
  await index.close();
  const source = await finder.openSource(passages);
  for (const plan of finder.plans) {
    const ranked = rankPassages({ query, ...(await source.find(query, plan)) });
    tally.add(`ranker, ${plan.name}`, { ranked: idsFrom(passages, ranked), gold });
  }
  await source[Symbol.asyncDispose]?.();
}

/** Queries per session; each is a line of one of its texts. */
const linesMax = 20;
const lineCharsMin = 40;

/** Whether the ranker finds a text by one of its lines as well as the search of one session. */
async function measureLines(
  { passages, entries }: CodingSession,
  { tally, finder }: { readonly tally: Tally; readonly finder: Finder },
): Promise<void> {
  const idsByLine = new Map<string, Set<string>>();
  for (const { text, id } of passages)
    for (const line of new Set(text.split("\n").map((one) => one.replaceAll(/["“”]/g, " ").trim())))
      if (line.length >= lineCharsMin) idsByLine.set(line, (idsByLine.get(line) ?? new Set()).add(id));
  const lines = [...idsByLine];
  const step = Math.max(1, Math.floor(lines.length / linesMax));
  const index = new LogIndex(entriesSource(entries));
  const source = await finder.openSource(passages);
  for (const [query, gold] of lines.filter((_, at) => at % step === 0).slice(0, linesMax)) {
    tally.ask();
    tally.add("search of one session", { ranked: await searchSession(index, { query, gold }), gold });
    for (const plan of finder.plans) {
      const ranked = rankPassages({ query, ...(await source.find(query, plan)) });
      tally.add(`ranker, ${plan.name}`, { ranked: idsFrom(passages, ranked), gold });
    }
  }
  await source[Symbol.asyncDispose]?.();
  await index.close();
}

/** Distinct ids, best first. */
function idsFrom(passages: readonly CodingPassage[], ranked: readonly { readonly key: number }[]): readonly string[] {
  return [...new Set(ranked.flatMap(({ key }) => passages[key]?.id ?? []))];
}

function rankPlain(passages: readonly CodingPassage[], query: string): readonly string[] {
  const source = new MemorySource(passages.map((passage) => ({ ...passage, stems: passage.textStems })));
  return idsFrom(
    passages,
    source.rankPlain(query, { saturation: 1.2, lengthShare: 0.75 }).map((key) => ({ key })),
  );
}

/** A hit that shows the same line as others stands for all of them. */
async function searchSession(
  index: LogIndex,
  { query, gold }: { readonly query: string; readonly gold: ReadonlySet<string> },
): Promise<readonly string[]> {
  const searched = await index.search({ query, pageSize: 10 });
  if (searched?.kind !== "found") return [];
  return searched.hits.map(({ id, also }) => [id, ...also].find((one) => gold.has(one)) ?? id);
}

/** The texts of a session as files, for ripgrep. */
class TextFiles implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "palimpsest-recall-"));
  readonly #idByFile = new Map<string, string>();
  readonly #keyByFile = new Map<string, number>();

  constructor(passages: readonly CodingPassage[]) {
    const passagesById = Map.groupBy(passages, ({ id, kind }) => `${kind} ${id}`);
    for (const [number, all] of [...passagesById.values()].entries()) {
      const file = String(number);
      writeFileSync(join(this.#folder, file), all.map(({ text }) => text).join(""));
      this.#idByFile.set(file, all[0]?.id ?? "");
      this.#keyByFile.set(file, all[0]?.key ?? 0);
    }
  }

  /** An OR of the words without stop words; the more different ones a file has, the better, then the more often. */
  rank(query: string, passages: number): readonly string[] {
    const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu))].filter(
      (word) => stemText(word).length > 0,
    );
    const args = words.flatMap((word) => ["--regexp", word]);
    const options = [
      "--no-config",
      "--only-matching",
      "--ignore-case",
      "--fixed-strings",
      "--no-line-number",
      "--with-filename",
      "--text",
    ];
    const { stdout } = spawnSync(rgPath, [...options, ...args, "."], {
      cwd: this.#folder,
      encoding: "utf8",
      maxBuffer: 2 ** 30,
    });
    const found = new Map<string, { readonly words: Set<string>; count: number }>();
    for (const line of stdout.split("\n")) {
      const colon = line.indexOf(":");
      if (colon === -1) continue;
      const file = line.slice(2, colon);
      if ((this.#keyByFile.get(file) ?? Infinity) >= passages) continue;
      const matches = found.get(file) ?? { words: new Set(), count: 0 };
      found.set(file, matches);
      matches.words.add(line.slice(colon + 1).toLowerCase());
      matches.count += 1;
    }
    const ranked = [...found].toSorted(
      ([, left], [, right]) => right.words.size - left.words.size || right.count - left.count,
    );
    return [...new Set(ranked.flatMap(([file]) => this.#idByFile.get(file) ?? []))];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

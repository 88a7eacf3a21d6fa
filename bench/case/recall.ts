import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { rgPath } from "@vscode/ripgrep";
import { scanForward } from "../../packages/palimpsest/src/session/scan-lines.ts";
import { searchSession } from "../../packages/palimpsest/src/session/search-session.ts";
import type { ByteSource } from "../../packages/palimpsest/src/ports/transcripts.ts";
import { entryTexts } from "../../packages/palimpsest/src/recall/entry-texts.ts";
import { LogIndex } from "../../packages/palimpsest/src/session/log-index.ts";
import { logSource } from "../../packages/palimpsest/src/session/recall-sources.ts";
import { openFileSource } from "../../packages/palimpsest/src/store/files/file-source.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";
import { SpokenLog } from "../spoken-log.ts";

const logBytes = 5 * 2 ** 20;
const repeats = 15;
/** Warm-up runs, which are not counted. */
const warmUps = 5;
/** Later queries of one index. */
const laterQueries = 10;
/** The size of a page of hits. */
const hitsMax = 10;

/** Search in a session of 5 MB, alternating with SQLite's full-text index of the same texts and ripgrep on the same file. */
export const recallCase: BenchCase = {
  name: "recall",
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
    try {
      const file = join(folder, "spoken.jsonl");
      await writeSpoken(file);
      return await figures(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function writeSpoken(file: string): Promise<void> {
  const log = new SpokenLog();
  const lines: string[] = [];
  for (let bytes = 0; bytes < logBytes;) {
    for (const line of log.round()) {
      lines.push(`${line}\n`);
      bytes += line.length + 1;
    }
  }
  await writeFile(file, lines.join(""));
}

interface Times {
  /** For a single query, as from the command line. */
  readonly alone: number[];
  readonly ripgrep: number[];
  readonly first: number[];
  readonly later: number[];
  readonly sqliteFirst: number[];
  readonly sqliteLater: number[];
}

const noTimes = (): Times => ({ alone: [], ripgrep: [], first: [], later: [], sqliteFirst: [], sqliteLater: [] });

async function figures(file: string): Promise<Figure[]> {
  const texts = await reading(file, textsOf);
  const queries = texts.map(fourWords).filter((query) => query !== "");
  const times = noTimes();
  for (let repeat = 0; repeat < warmUps + repeats; repeat += 1) {
    const chosen = queries.slice(7 * repeat, 7 * repeat + laterQueries + 1);
    await measure({ file, queries: chosen, times: repeat < warmUps ? noTimes() : times });
  }
  return [
    ratio({
      name: "first search of a 5 MB session over SQLite's",
      ours: times.first,
      peer: times.sqliteFirst,
      detail:
        "opened, read, indexed with terms, stems, calls and texts, asked; FTS5 with its default tokenizer, in memory, filled from the same reading",
      limit: 10,
    }),
    ratio({
      name: "each later search over SQLite's",
      ours: times.later,
      peer: times.sqliteLater,
      detail: `four words, ${hitsMax} hits with a line of each, ranked with their neighbours; means of ${laterQueries} queries`,
      limit: 35,
    }),
    ratio({
      name: "one search alone over ripgrep's for one word",
      ours: times.alone,
      peer: times.ripgrep,
      detail:
        "as the command line searches, its own start left out; ripgrep is a process, counts lines and ranks nothing",
    }),
  ];
}

interface Compared {
  readonly name: string;
  readonly ours: readonly number[];
  readonly peer: readonly number[];
  readonly detail: string;
  readonly limit?: number;
}

const ratio = ({ name, ours, peer, detail, ...limit }: Compared): Figure => ({
  name,
  value: median(ours) / median(peer),
  unit: "×",
  detail: `${median(ours).toFixed(2)} ms, ${median(peer).toFixed(2)} ms; ${detail}; medians of ${repeats} in turn, code warm`,
  ...limit,
});

interface Measuring {
  readonly file: string;
  readonly queries: readonly string[];
  readonly times: Times;
}

async function measure({ file, queries, times }: Measuring): Promise<void> {
  const [query = "", ...later] = queries;
  const blobs = memoryBlobs();
  times.alone.push(await timed(() => reading(file, (source) => searchSession({ blobs }, { source, query }))));
  const [literal = ""] = query.split(" ");
  const rg = ["--no-config", "--count", "--fixed-strings", literal, file];
  times.ripgrep.push(await timed(async () => execFileSync(rgPath, rg)));
  const index = new LogIndex(logSource({ blobs, open: () => openSource(file) }));
  times.first.push(await timed(() => index.search({ query })));
  times.later.push((await timed(() => each(later, (text) => index.search({ query: text })))) / later.length);
  await index.close();
  const database = new DatabaseSync(":memory:");
  const first = async (): Promise<StatementSync> => {
    const search = indexed(database, await reading(file, textsOf));
    search.all(anyOf(query));
    return search;
  };
  const start = performance.now();
  const search = await first();
  times.sqliteFirst.push(performance.now() - start);
  times.sqliteLater.push((await timed(() => each(later, async (text) => search.all(anyOf(text))))) / later.length);
  database.close();
}

async function textsOf(source: ByteSource): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { logged } of scanForward(source))
    for (const { entry } of logged) for (const { text } of entryTexts(entry)) texts.push(text);
  return texts;
}

/** Indexes the texts, and returns the search. */
function indexed(database: DatabaseSync, texts: readonly string[]): StatementSync {
  database.exec("create virtual table said using fts5(text); begin");
  const insert = database.prepare("insert into said values (?)");
  for (const text of texts) insert.run(text);
  database.exec("commit");
  return database.prepare(
    `select rowid, snippet(said, 0, '', '', '…', 32) from said where said match ? order by rank limit ${hitsMax}`,
  );
}

const anyOf = (query: string): string => query.split(" ").join(" OR ");

/** The last words of a text, as a user would query who knows what was said. */
const fourWords = (text: string): string => (text.match(/\b[a-z]{4,}\b/gi) ?? []).slice(-4).join(" ");

async function reading<Read>(file: string, read: (source: ByteSource) => Promise<Read>): Promise<Read> {
  const source = await openSource(file);
  try {
    return await read(source);
  } finally {
    await source.close();
  }
}

async function openSource(file: string): Promise<ByteSource> {
  const opened = await openFileSource(file);
  if (opened.kind !== "open") throw new Error(opened.kind);
  return opened.source;
}

async function each(queries: readonly string[], ask: (query: string) => Promise<unknown>): Promise<void> {
  for (const query of queries) await ask(query);
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

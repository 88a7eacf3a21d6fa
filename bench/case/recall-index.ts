import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecallIndex } from "../../packages/palimpsest/src/ports/recall-index.ts";
import { isArray, isObject, type Json, parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { openStoreRecall } from "../../packages/palimpsest/src/session/open-recall.ts";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { userTypedText } from "../../packages/palimpsest/src/transcript/user-text.ts";
import { corpusBytes, corpusFiles } from "../../test/fixture/corpus.ts";
import type { BenchCase, Figure } from "../measure.ts";

const mib = 2 ** 20;
const steps = 4;
const queriesMax = 300;
/** Shorter requests say nothing that could be searched for ("yes", "go on"). */
const queryCharsMin = 20;

/**
 * The index over all sessions of a project: `npm run bench -- recall-index --mb 1000`. The transcripts are recorded sessions,
 * each copy with a quarter of its longer words changed, so that the vocabulary grows with the text.
 */
export const recallIndexCase: BenchCase = {
  name: "recall-index",
  run: async () => {
    if (corpusFiles.length === 0) return [];
    const folder = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
    try {
      return await figures(join(folder, "projects", "p"), megabytes());
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function megabytes(): number {
  const at = process.argv.indexOf("--mb");
  return at === -1 ? 60 : Number(process.argv[at + 1]);
}

interface Step {
  readonly bytes: number;
  readonly chars: number;
  readonly indexBytes: number;
  readonly ms: number;
}

async function figures(folder: string, mb: number): Promise<Figure[]> {
  await mkdir(folder, { recursive: true });
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  const open = async (): Promise<RecallIndex> => {
    const opened = await openStoreRecall(filePorts({ deps, folder, durability: "never" }));
    if (opened.kind !== "open") throw new Error(opened.kind);
    return opened.index;
  };
  const generated = generate(folder);
  const done: Step[] = [];
  let bytes = 0;
  let peak = 0;
  for (let step = 1; step <= steps; step += 1) {
    while (bytes < (mb * mib * step) / steps) bytes += (await generated.next()).value ?? Infinity;
    const index = await open();
    const start = performance.now();
    await index.catchUp({ onProgress: () => (peak = Math.max(peak, process.memoryUsage().rss)) });
    const ms = performance.now() - start;
    const { chars } = await index.state();
    await index.close();
    const closed = await open();
    const { bytes: indexBytes } = await closed.state();
    await closed.close();
    done.push({ bytes, chars, indexBytes, ms });
    console.log(
      `  ${format(bytes)} of transcripts, ${format(chars)} of text: index ${format(indexBytes)}, ${(ms / 1_000).toFixed(1)} s`,
    );
  }
  const index = await open();
  const times = await searchAll(index);
  await index.close();
  return [...buildFigures(done, peak), ...searchFigures(times, done.at(-1)?.bytes ?? 0)];
}

const format = (bytes: number): string => `${(bytes / mib).toFixed(0)} MiB`;

function buildFigures(done: readonly Step[], peak: number): Figure[] {
  const last = done.at(-1) ?? { bytes: 1, chars: 1, indexBytes: 1, ms: 1 };
  const ms = done.reduce((sum, step) => sum + step.ms, 0);
  const growth = done.map(({ bytes, indexBytes }) => indexBytes / bytes);
  return [
    {
      name: "transcripts indexed",
      value: last.bytes / mib / (ms / 1_000),
      unit: "MiB/s",
      detail: `${format(last.bytes)} in ${(ms / 1_000).toFixed(1)} s, ${steps} times a quarter`,
    },
    {
      name: "index over text",
      value: last.indexBytes / last.chars,
      unit: "×",
      detail: `${format(last.indexBytes)} for ${format(last.chars)} of text in ${format(last.bytes)} of transcripts; words, texts and everything else`,
    },
    {
      name: "growth: index over transcripts at the end, over that at a quarter",
      value: (growth.at(-1) ?? 1) / (growth[0] ?? 1),
      unit: "×",
      detail: `at each step ${growth.map((share) => share.toFixed(3)).join(", ")}`,
      limit: 1.1,
    },
    {
      name: "memory while indexing",
      value: peak / mib,
      unit: "MiB",
      detail: "the largest resident size of the process between two documents",
    },
  ];
}

interface SearchTimes {
  readonly first: number;
  readonly wall: readonly number[];
  readonly cpu: readonly number[];
}

/** What users asked for later in the recorded sessions, each once. */
async function searchAll(index: RecallIndex): Promise<SearchTimes> {
  const wall: number[] = [];
  const cpu: number[] = [];
  for (const query of laterRequests()) {
    const start = performance.now();
    const before = process.cpuUsage();
    await index.search({ query });
    const used = process.cpuUsage(before);
    wall.push(performance.now() - start);
    cpu.push((used.user + used.system) / 1_000);
  }
  const [first = 0] = wall;
  return { first, wall: wall.toSorted((a, b) => a - b), cpu: cpu.toSorted((a, b) => a - b) };
}

function laterRequests(): readonly string[] {
  const requests = corpusFiles.flatMap((name) => {
    const { logged } = readLines({ bytes: corpusBytes(name), start: 0 });
    const typed = logged.flatMap(({ entry }) => userTypedText(entry) ?? []);
    return typed.slice(1).filter((text) => text.trim().length >= queryCharsMin);
  });
  const distinct = [...new Set(requests)];
  const stride = Math.max(1, distinct.length / queriesMax);
  return Array.from(
    { length: Math.min(queriesMax, distinct.length) },
    (_, n) => distinct[Math.floor(n * stride)] ?? "",
  );
}

const percentile = (times: readonly number[], share: number): number =>
  times[Math.floor(share * (times.length - 1))] ?? 0;

function searchFigures({ first, wall, cpu }: SearchTimes, bytes: number): Figure[] {
  const detail = `${wall.length} later requests of recorded sessions, ${format(bytes)}, default ranker; processor time ${percentile(cpu, 0.5).toFixed(1)} ms and ${percentile(cpu, 0.95).toFixed(1)} ms`;
  return [
    { name: "search, median", value: percentile(wall, 0.5), unit: "ms", detail, limit: 50 },
    { name: "search, 95th percentile", value: percentile(wall, 0.95), unit: "ms", detail, limit: 250 },
    {
      name: "the first search after opening",
      value: first,
      unit: "ms",
      detail: "nothing of the index in SQLite's cache",
    },
    {
      name: "memory after searching",
      value: process.memoryUsage().rss / mib,
      unit: "MiB",
      detail: "resident size of the process",
    },
  ];
}

/** Writes one transcript after the other and yields its size. Endless. */
async function* generate(folder: string): AsyncGenerator<number> {
  for (let copy = 0; ; copy += 1) {
    for (const [at, name] of corpusFiles.entries()) {
      const lines = Buffer.from(corpusBytes(name)).toString("utf8").split("\n");
      const text = copy === 0 ? lines : lines.map((line) => changeLine(line, copy));
      const data = Buffer.from(text.join("\n"));
      const id = `${String(copy).padStart(8, "0")}-0000-4000-8000-${String(at).padStart(12, "0")}`;
      await appendFile(join(folder, `${id}.jsonl`), data);
      yield data.length;
    }
  }
}

function changeLine(line: string, copy: number): string {
  if (!line.includes('"content"')) return line;
  try {
    const entry = parseJson(line);
    if (!isObject(entry) || !isObject(entry["message"])) return line;
    return JSON.stringify({
      ...entry,
      message: { ...entry["message"], content: changeWords(entry["message"]["content"] ?? "", copy) },
    });
  } catch {
    return line;
  }
}

const keysToKeep: ReadonlySet<string> = new Set([
  "type",
  "id",
  "tool_use_id",
  "name",
  "signature",
  "data",
  "media_type",
]);

function changeWords(value: Json, copy: number): Json {
  if (typeof value === "string")
    return value.replaceAll(/[a-z]{5,}/g, (word) =>
      hash(word, copy) % 4 === 0 ? word + copy.toString(26).replaceAll(/\d/g, "q") : word,
    );
  if (isArray(value)) return value.map((item) => changeWords(item, copy));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, keysToKeep.has(key) ? item : changeWords(item, copy)]),
  );
}

function hash(word: string, seed: number): number {
  let value = seed;
  for (let at = 0; at < word.length; at += 1) value = Math.imul(value ^ word.charCodeAt(at), 0x01_00_01_93);
  return value >>> 8;
}

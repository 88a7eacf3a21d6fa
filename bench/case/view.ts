import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { openLog } from "../../packages/palimpsest/src/session/open-log.ts";
import { openFileSource } from "../../packages/palimpsest/src/store/files/file-source.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

const repeats = 15;
const corpus = resolve(
  process.env["PALIMPSEST_CORPUS"] ?? join(import.meta.dirname, "../../../shared/corpus"),
  "claude-code",
);

/** Views the largest recorded session from its bytes, alternating with JSON.parse of each of its lines. */
export const viewCase: BenchCase = {
  name: "view",
  run: async () => {
    const [file, ...others] = bySize();
    if (file === undefined) return [];
    for (const other of others) {
      await view(other);
      parse(other);
    }
    const size = `${(statSync(file).size / 2 ** 20).toFixed(1)} MB`;
    return [await inOneProcess(file, size), inNewProcesses(file, size)];
  },
};

async function inOneProcess(file: string, size: string): Promise<Figure> {
  const ours: number[] = [];
  const peer: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    peer.push(await timed(async () => parse(file)));
    ours.push(await timed(() => view(file)));
  }
  const detail = `view ${median(ours).toFixed(1)} ms, parse ${median(peer).toFixed(1)} ms, ${size}, nothing of the file in memory, code warm from the other files`;
  return {
    name: "view of the largest corpus file over JSON.parse of its lines",
    value: median(ours) / median(peer),
    unit: "×",
    limit: 1.5,
    detail,
  };
}

/** Includes compiling the engine's code, as for the first command in a new shell. */
function inNewProcesses(file: string, size: string): Figure {
  const ours: number[] = [];
  const peer: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    peer.push(inNewProcess("parse", file));
    ours.push(inNewProcess("view", file));
  }
  const detail = `view ${median(ours).toFixed(1)} ms, parse ${median(peer).toFixed(1)} ms, ${size}, ${repeats} processes each, modules loaded`;
  return { name: "the same, each in a new process", value: median(ours) / median(peer), unit: "×", detail };
}

function bySize(): string[] {
  try {
    const files = readdirSync(corpus).map((name) => join(corpus, name));
    return files.toSorted((one, other) => statSync(other).size - statSync(one).size);
  } catch {
    // Without a corpus the case has no figures.
    return [];
  }
}

export const parse = (file: string): unknown[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));

export async function view(file: string): Promise<void> {
  const opened = await openFileSource(file);
  if (opened.kind !== "open") throw new Error(opened.kind);
  const log = await openLog({ blobs: memoryBlobs() }, { source: opened.source, origin: "foreign" });
  log.fold.view();
  await opened.source.close();
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

const inNewProcess = (mode: "parse" | "view", file: string): number =>
  Number(
    execFileSync(
      process.execPath,
      ["--conditions=@palimpsest/source", join(import.meta.dirname, "view-once.ts"), mode, file],
      { encoding: "utf8" },
    ),
  );

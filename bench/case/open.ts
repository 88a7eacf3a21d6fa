import { execFileSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { z } from "zod";
import { GeneratedLog } from "../generated-log.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

const gigabyte = 2 ** 30;
const tailBytes = 3_500_000;
const repeats = 9;
/** Pairs in one process; the first half warms up the code. */
const warmPairs = 40;

/** Opens a log of a gigabyte with a boundary 3.5 MB before its end, warm and in new processes. */
export const openCase: BenchCase = {
  name: "open",
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
    try {
      const file = join(folder, "large.jsonl");
      await writeLarge(file);
      return figures(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const measured = z.object({
  openMs: z.array(z.number()),
  parseMs: z.array(z.number()),
  bytesRead: z.number(),
  rssBytes: z.number(),
});

function figures(file: string): Figure[] {
  const warm = runOnce(file, warmPairs);
  const cold = Array.from({ length: repeats }, () => runOnce(file, 1));
  const openMs = median(warm.openMs.slice(warmPairs / 2));
  const parseMs = median(warm.parseMs.slice(warmPairs / 2));
  const coldRatios = cold.map((run) => (run.openMs[0] ?? NaN) / (run.parseMs[0] ?? NaN));
  const rss = Math.max(...cold.map((run) => run.rssBytes)) / 2 ** 20;
  return [
    {
      name: "open 1 GB over parsing its last 4 MB",
      value: openMs / parseMs,
      unit: "×",
      limit: 3,
      detail: `open ${openMs.toFixed(1)} ms, parse ${parseMs.toFixed(1)} ms, medians of ${warmPairs / 2} in turn, file in the page cache, code warm`,
    },
    {
      name: "the same, each in a new process",
      value: median(coldRatios),
      unit: "×",
      detail: `open ${median(cold.map((run) => run.openMs[0] ?? NaN)).toFixed(1)} ms, ${repeats} processes`,
    },
    {
      name: "memory of a process that opened it",
      value: rss,
      unit: "MB",
      limit: 256,
      detail: "peak resident size, Node itself included",
    },
    {
      name: "bytes read of 1 GB",
      value: warm.bytesRead / 2 ** 20,
      unit: "MB",
      limit: 8,
      detail: `boundary ${(tailBytes / 2 ** 20).toFixed(1)} MB before the end, no checkpoint`,
    },
  ];
}

function runOnce(file: string, times: number): z.infer<typeof measured> {
  const args = ["--conditions=@palimpsest/source", join(import.meta.dirname, "open-once.ts"), file, String(times)];
  return measured.parse(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })));
}

async function writeLarge(path: string): Promise<void> {
  const out = createWriteStream(path, { highWaterMark: 4 * 2 ** 20 });
  const log = new GeneratedLog();
  let written = 0;
  const write = async (lines: Iterable<string>): Promise<void> => {
    let chunk = "";
    for (const line of lines) chunk += `${line}\n`;
    written += chunk.length;
    if (!out.write(chunk)) await once(out, "drain");
  };
  while (written < gigabyte - tailBytes) await write(log.round(20_000));
  await write(log.boundary());
  while (written < gigabyte) await write(log.round(4_000));
  out.end();
  await once(out, "finish");
}

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { policyNames } from "../../packages/palimpsest/src/schema/policy-names.ts";
import type { BenchCase, Figure } from "../measure.ts";

const corpus = resolve(process.env["PALIMPSEST_CORPUS"] ?? join(import.meta.dirname, "../../../shared/corpus"));
const jobs = 2;

/** Replays every recorded session under every preset, starting from its bytes, in a process of its own. */
export const replayCase: BenchCase = {
  name: "replay",
  run: async () => {
    if (!existsSync(corpus)) return [];
    const cache = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
    try {
      return [replayed(cache)];
    } finally {
      await rm(cache, { recursive: true, force: true });
    }
  },
};

function replayed(cache: string): Figure {
  const command = join(import.meta.dirname, "../../bin/palimpsest");
  const args = ["replay", corpus, "--policy", "presets", "--jobs", String(jobs), "--fresh"];
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [command, ...args], {
    encoding: "utf8",
    env: { ...process.env, XDG_CACHE_HOME: cache },
    maxBuffer: 2 ** 28,
  });
  const seconds = (performance.now() - start) / 1_000;
  if (status !== 0) throw new Error(`replay ended with ${status}: ${stderr.slice(-500)}`);
  return {
    name: "replay of all recorded sessions under all presets",
    value: seconds,
    unit: "s",
    limit: 300,
    detail: `${policyNames.length} presets at five-minute prices, ${jobs} processes, nothing kept from an earlier run`,
  };
}

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { factKinds } from "../../packages/lab/src/fidelity/fact.ts";
import type { FidelityOutcome } from "../../packages/lab/src/fidelity/fidelity-outcome.ts";
import { expectRefusal, json, newWorld, rawLog, said } from "./support/cli-world.ts";

/** Long replies, which no policy clears: a window of 60,000 tokens is full more than once. */
function session(rounds: number): readonly object[] {
  const raw = rawLog();
  raw.add(said.user("Tell me all of it, and never mention the bells."));
  for (let round = 0; round < rounds; round += 1) {
    raw.add(said.text(`m${round}`, `line ${round} of many\n`.repeat(300)));
    raw.add(said.user(`Go on with chapter ${1_000 + round}.`));
  }
  raw.add(said.text("last", "Done."));
  return raw.entries;
}

async function fidelityWorld() {
  const world = await newWorld();
  mkdirSync(join(world.work, "all"));
  world.file("all/long.jsonl", session(40));
  world.file("all/short.jsonl", session(2));
  world.file("all/notes.md", "Not a session.\n");
  const cache = join(world.work, "cache");
  const call = (...args: readonly string[]) =>
    world.start({ env: { XDG_CACHE_HOME: cache } }, "fidelity", ...args, "--window", "60k", "--jobs", "1");
  const kept = (): readonly string[] => {
    const folder = join(cache, "palimpsest/replay");
    return readdirSync(folder).map((name) => join(folder, name));
  };
  return { ...world, call, kept };
}

const policies = ["--policy", "palimpsest,claude-code-2026,none"] as const;

describe("palimpsest fidelity", () => {
  it("tells what each policy shows, which window that is under, and which policies never compact", async () => {
    const { call, work } = await fidelityWorld();
    const { code, out, err } = await call("all", ...policies, "--svg", "plot.svg");
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringMatching(/^2 files replayed, 1 without a session, 0 failed\n/) as string,
    });
    expect(out).toMatch(/^2 sessions under a window of 60,000 tokens\./);
    expect(out).toContain("No compaction, so no figures: none.");
    expect(out).toMatch(/^After compaction 1: shown verbatim/m);
    expect(out).toMatch(/^palimpsest +100 /m);
    expect(readFileSync(join(work, "plot.svg"), "utf8")).toMatch(/^<svg [^]*palimpsest[^]*<\/svg>\n$/);
  });

  it("with --json gives every file, policy and compaction an object whose facts are in one class each", async () => {
    const { call, work } = await fidelityWorld();
    const rows = json<readonly FidelityOutcome[]>(await call("all", ...policies, "--compactions", "2,1", "--json"));
    expect(
      rows.map(({ file, policy, compaction }) => [file.replace(`${work}/`, ""), policy, compaction].join()),
    ).toEqual(expect.arrayContaining(["all/long.jsonl,palimpsest,1", "all/long.jsonl,claude-code-2026,2"]));
    for (const { facts, policy, userMessages, userMessagesVerbatim, window, tokensBefore, tokensAfter } of rows) {
      expect(window).toBe(60_000);
      expect(userMessages).toBeGreaterThan(1);
      if (policy === "palimpsest") expect(userMessagesVerbatim).toBe(userMessages);
      expect(tokensAfter).toBeLessThan(tokensBefore);
      expect(Object.keys(facts)).toEqual([...factKinds]);
    }
  });

  it("finds what an earlier run has done, unless told to do it again", async () => {
    const { call, kept } = await fidelityWorld();
    const args = ["all/short.jsonl", "--policy", "palimpsest"] as const;
    await call(...args);
    const [path = ""] = kept();
    const before = statSync(path).mtimeMs;
    await call(...args);
    expect(statSync(path).mtimeMs).toBe(before);
    await call(...args, "--fresh");
    expect(statSync(path).mtimeMs).toBeGreaterThan(before);
    expect(kept()).toHaveLength(1);
  });

  it("refuses at once what it can't do", async () => {
    const { call, work } = await fidelityWorld();
    expectRefusal(await call("all", "--policy", "best"), 2, /best/);
    expectRefusal(await call("all", "--compactions", "none"), 2, /--compactions none/);
    expectRefusal(await call("nowhere.jsonl"), 3, /nowhere\.jsonl/);
    expectRefusal(await call("all", "--svg", "no/such/plot.svg"), 3, /no\/such/);
    expect(existsSync(join(work, "cache", "palimpsest", "replay"))).toBe(false);
  });
});

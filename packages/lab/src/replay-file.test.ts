import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf, sourceOf } from "../../../test/fixture/log.ts";
import { call, result, says, text, user } from "../../../test/fixture/raw.ts";
import { madeRecording, type MadeRound } from "../../../test/fixture/replay/made-recording.ts";
import { replayed } from "../../../test/fixture/replay/replayed.ts";
import { arbitraryRecording } from "../../../test/property/made-recording.ts";
import { parametersFor } from "../../../test/property/runs.ts";
import { millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { usualRates } from "palimpsest/internal/cache/cache-rates";
import { policyCatalogue } from "palimpsest/internal/policy/policy-catalogue";
import { blobId } from "palimpsest/internal/schema/brand";
import { type ReplayRequest, replayFile, replayRecording } from "./replay-file.ts";

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};
const request: ReplayRequest = {
  path: "session.jsonl",
  policies: ["never", "rule"],
  prices: ["5m", "1h"],
  windowTokens: undefined,
  refetch: "charged",
  cache: "marked",
};
const log = (...raws: readonly { readonly uuid: string }[]): Uint8Array =>
  bytesOf(raws.map((raw, at) => JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw })));
const used = (uuid: string, usage: object) => ({
  type: "assistant",
  uuid,
  message: { id: uuid, model: "claude-sonnet-4-5", content: [text("done")], usage },
});
const replayOf = (data: Uint8Array | undefined, changes: Partial<ReplayRequest> = {}) =>
  replayFile(
    { sha256, open: async () => (data === undefined ? undefined : sourceOf(data)) },
    { ...request, ...changes },
  );

describe("replaying a file", () => {
  it("tells every policy at every price, in the order asked for", async () => {
    const file = await replayOf(log(user("u1"), says("a1", "m1", call("t1")), result("r1", "t1"), says("a2", "m2")));
    const outcomes = file.kind === "replayed" ? file.outcomes : [];
    expect(outcomes.map(({ prices, policy }) => `${prices} ${policy}`)).toEqual([
      "5m never",
      "5m rule",
      "1h never",
      "1h rule",
    ]);
    expect(outcomes[0]).toMatchObject({ file: "session.jsonl", rounds: 2, calls: 2 });
    expect(outcomes[0]).not.toHaveProperty("recordedCost");
    expect(outcomes[0]).not.toHaveProperty("failedAt");
  });

  it.each<[string, Uint8Array | undefined]>([
    ["is gone", undefined],
    ["holds no session", log(user("u1"))],
    ["is empty", new Uint8Array()],
  ])("skips one that %s", async (_, data) => {
    expect((await replayOf(data)).kind).toBe("skipped");
  });

  it("prices the usage that was recorded, at the lifetime with which it was written, where every round has it", async () => {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 4_000,
      cache_read_input_tokens: 0,
      output_tokens: 9,
    };
    const later = { ...usage, cache_creation_input_tokens: 100, cache_read_input_tokens: 4_000 };
    const hour = (tokens: number) => ({ cache_creation: { ephemeral_1h_input_tokens: tokens } });
    const recordedCosts = async (...replies: readonly { readonly uuid: string }[]) => {
      const file = await replayOf(log(...replies.flatMap((reply, at) => [user(`u${at}`), reply])));
      const outcomes = file.kind === "replayed" ? file.outcomes : [];
      return outcomes.map(({ recordedCost }) => (recordedCost === undefined ? undefined : Math.round(recordedCost)));
    };
    const lost = await replayOf(
      log(user("u1"), used("a1", usage), user("u2"), used("a2", { ...usage, cache_creation_input_tokens: 4_100 })),
    );
    expect(lost.kind === "replayed" && lost.outcomes[0]?.recordedLossCost).toBeCloseTo(1.15 * 4_010, 9);
    const none = undefined;
    const all = [none, none, none, none];
    expect(await recordedCosts(used("a1", usage), used("a2", later))).toEqual([5_545, 5_545, none, none]);
    const long = [used("a1", { ...usage, ...hour(4_000) }), used("a2", { ...later, ...hour(100) })] as const;
    expect(await recordedCosts(...long)).toEqual([none, none, 8_620, 8_620]);
    // A part that was written for five minutes costs less.
    expect(await recordedCosts(long[0], used("a2", later))).toEqual([none, none, 8_545, 8_545]);
    expect(await recordedCosts(used("a1", usage), says("a2", "m2", text("done")))).toEqual(all);
    const smaller = { ...later, cache_read_input_tokens: 3_000 };
    expect(await recordedCosts(used("a1", usage), used("a2", smaller))).toEqual(all);
    const unwritten = { input_tokens: 4_000, cache_read_input_tokens: 0, output_tokens: 9 };
    expect(await recordedCosts(used("a1", unwritten), used("a2", unwritten))).toEqual(all);
  });

  it("has no policy that nobody made", async () => {
    await expect(replayRecording(madeRecording([{}]), { ...request, policies: ["best"] })).rejects.toThrow("best");
  });

  it("has no bound where the lifetime is chosen for each request: the optima know one for the whole session", async () => {
    const recording = madeRecording([{}, { said: 200 }]);
    const outcomes = await replayRecording(recording, { ...request, policies: ["never"], prices: ["5m", "auto"] });
    expect(outcomes.map(({ optimumFull, optimumClearOnly }) => [optimumFull, optimumClearOnly])).toEqual([
      [expect.any(Number), expect.any(Number)],
      [null, null],
    ]);
  });

  it("has bounds that know the window, and none where there is none", async () => {
    const rounds: readonly MadeRound[] = [{}, { said: 30_000 }, { said: 30_000 }];
    const optimum = async (windowTokens: ReplayRequest["windowTokens"]): Promise<number> =>
      (await replayed(madeRecording(rounds), "none", { windowTokens })).optimumFull ?? Infinity;
    // With one there is no room for both.
    expect((await optimum(60_000)) - (await optimum("none"))).toBeGreaterThan(15_000);
  });
});

const runs = parametersFor({ quick: 25, long: 400 });
const open: Partial<ReplayRequest> = { windowTokens: "none", refetch: "free" };

describe(`laws of replays, ${runs.numRuns} sessions each, seed ${runs.seed}`, () => {
  it.each(["marked", "prefix"] as const)("without an edit the formula is the bill: %s", async (cache) => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryRecording({ roundsMin: 1, roundsMax: 25 }),
        fc.constantFrom("5m", "1h"),
        async (recording, prices) => {
          const { contextByRound, inputCost } = await replayed(recording, "never", {
            ...open,
            cache,
            prices: [prices],
          });
          const { read, write } = usualRates[prices];
          let cost = 0;
          for (const [round, context] of contextByRound.entries()) {
            const gap = (recording.rounds[round]?.at ?? 0) - (recording.rounds[round - 1]?.at ?? -Infinity);
            const isShared = recording.rounds[round]?.cacheEvents?.includes("header-shared") === true;
            const shared = isShared ? (recording.cache?.sharedTokens ?? 0) : 0;
            const cached = gap >= millisByLifetime[prices] ? shared : (contextByRound[round - 1] ?? 0);
            cost += read * cached + write * (context - cached);
          }
          expect(inputCost).toBeCloseTo(cost, 4);
        },
      ),
      runs,
    );
  });

  const patient = policyCatalogue().filter(({ name }) => /^(?:never|cold|rule)/.test(name));

  it.each(["marked", "prefix"] as const)(
    "no policy that waits three rounds costs less than the optima: %s",
    async (cache) => {
      await fc.assert(
        fc.asyncProperty(
          arbitraryRecording({ roundsMin: 8, roundsMax: 30 }),
          fc.constantFrom(60_000, "none" as const),
          async (recording, windowTokens) => {
            const policies = patient.map(({ name }) => name);
            const outcomes = await replayRecording(recording, {
              ...request,
              policies,
              windowTokens,
              refetch: "free",
              cache,
            });
            for (const outcome of outcomes) {
              const { cost, compactions, failedAt, refused } = outcome;
              const optimumFull = outcome.optimumFull ?? Infinity;
              const optimumClearOnly = outcome.optimumClearOnly ?? Infinity;
              expect(refused).toBe(0);
              if (windowTokens === "none") expect(optimumFull).toBeLessThanOrEqual(optimumClearOnly + 1e-6);
              if (failedAt !== undefined) continue;
              expect(cost, outcome.policy).toBeGreaterThanOrEqual(optimumFull - 1e-6);
              if (compactions === 0) expect(cost, outcome.policy).toBeGreaterThanOrEqual(optimumClearOnly - 1e-6);
            }
          },
        ),
        // Each session is replayed under all of them: looking for a smaller one that fails too takes hours.
        { ...runs, endOnFailure: true },
      );
    },
  );
});

describe("a trace", () => {
  it("is enough to make every bill anew, with nothing of ours", async () => {
    const long = { results: [3_000, 900], reply: 200 };
    const rounds: readonly MadeRound[] = Array.from({ length: 30 }, (_, at) => ({
      ...long,
      afterMillis: at % 13 === 12 ? 400_000 : 20_000,
      cacheEvents: ["header-shared"],
    }));
    const { sent } = await replayed(madeRecording([{}, ...rounds], { sharedTokens: 4_000 }), "never", {
      policies: ["never", "truncate", "mask", "opencode", "palimpsest", "palimpsest-with-notes-5k"],
      prices: ["5m", "1h", "auto"],
      windowTokens: 100_000,
    });
    expect(new Set(sent.map(({ call }) => call))).toEqual(new Set([undefined, "fork", "plain"]));
    const path = join(mkdtempSync(join(tmpdir(), "trace-")), "made.trace.jsonl");
    const billed = (lines: readonly object[]): string => {
      writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const script = resolve(import.meta.dirname, "../../../examples/check-replay.ts");
      return execFileSync(process.execPath, [script, path], { encoding: "utf8" });
    };
    expect(billed(sent)).toBe(`${sent.length} requests, 0 billed differently\n`);
    const asides = ["fork", "plain"].map((call) => sent.findIndex((line) => line.call === call));
    const notes = sent.findIndex(({ kind }) => kind === "notes");
    for (const wrong of [70, notes, ...asides]) {
      const lines = sent.map((line, at) =>
        at === wrong ? { ...line, usage: { ...line.usage, cacheReadTokens: line.usage.cacheReadTokens + 1 } } : line,
      );
      expect(billed(lines), `line ${wrong}`).toBe(`${sent.length} requests, 1 billed differently\n`);
    }
  });
});

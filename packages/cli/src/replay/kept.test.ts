import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needTable } from "palimpsest/internal/cache/need-table.data";
import { policyCatalogue } from "palimpsest/internal/policy/policy-catalogue";
import { outcomeOf } from "../../../../test/fixture/replay/outcome.ts";
import {
  type JobOptions,
  createFileJob,
  rulesHash,
  writeOutcomes,
  outcomesFolder,
  readOutcomes,
  removeOldOutcomes,
} from "./file-job.ts";
import { replayJob } from "./replay-job.ts";

const folder = (): string => mkdtempSync(join(tmpdir(), "kept-"));
const file = { path: "/sessions/one.jsonl", sizeBytes: 10, modifiedMillis: 5 };
const options: JobOptions = {
  policies: ["never"],
  prices: ["5m"],
  windowTokens: undefined,
  refetch: "charged",
  cache: "marked",
  compaction: "stand-in",
  version: "0.1.0 1",
  rules: "one",
  keptFolder: "/kept",
  traceFolder: "/traces",
};
const replayed = { kind: "replayed", outcomes: [outcomeOf(), outcomeOf({ policy: "rule", failedAt: 3 })] } as const;

describe("what is kept of a file", () => {
  it("has a name that only the same file with the same options has", () => {
    const same = createFileJob(file, options).keptPath;
    expect(createFileJob({ ...file }, { ...options, keptFolder: "/kept", traceFolder: undefined }).keptPath).toBe(same);
    const others = [
      createFileJob({ ...file, path: "/sessions/two.jsonl" }, options),
      createFileJob({ ...file, sizeBytes: 11 }, options),
      createFileJob({ ...file, modifiedMillis: 6 }, options),
      createFileJob(file, { ...options, policies: ["never", "rule"] }),
      createFileJob(file, { ...options, prices: ["1h"] }),
      createFileJob(file, { ...options, windowTokens: 100_000 }),
      createFileJob(file, { ...options, refetch: "free" }),
      createFileJob(file, { ...options, cache: "prefix" }),
      createFileJob(file, { ...options, compaction: "extract" }),
      createFileJob(file, { ...options, version: "0.1.0 2" }),
      createFileJob(file, { ...options, rules: "other" }),
    ];
    expect(new Set([same, ...others.map(({ keptPath }) => keptPath)]).size).toBe(1 + others.length);
  });

  it("has another name as soon as a number of a policy or of the table of needs is another", () => {
    const policies = policyCatalogue();
    const [first] = policies;
    if (first === undefined) throw new Error("no policies");
    const hash = rulesHash({ policies, needTable });
    expect(rulesHash({ policies: policies.map((policy) => structuredClone(policy)), needTable })).toBe(hash);
    const others = [
      { policies: policies.with(0, { ...first, truncate: { overTokens: 123 } }), needTable },
      { policies: policies.slice(1), needTable },
      { policies, needTable: { ...needTable, read: needTable.read.slice(1) } },
    ].map(rulesHash);
    expect(new Set([hash, ...others]).size).toBe(4);
  });

  it.each([
    ["outcomes", replayed],
    ["that it holds no session", { kind: "skipped", why: "no reply in it" }],
    ["a bound that there is none of", { kind: "replayed", outcomes: [outcomeOf({ optimumClearOnly: null })] }],
  ] as const)("comes back as it was: %s", async (_, one) => {
    const path = join(folder(), "kept.jsonl");
    await writeOutcomes(path, one);
    expect(await readOutcomes(path)).toEqual(one);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["cut short", (path: string) => truncateSync(path, statSync(path).size - 40)],
    [
      "without its last line",
      (path: string) => writeFileSync(path, `${readFileSync(path, "utf8").split("\n").slice(0, 2).join("\n")}\n`),
    ],
    ["with more behind it", (path: string) => appendFileSync(path, `${JSON.stringify(outcomeOf())}\n`)],
    ["not JSON", (path: string) => writeFileSync(path, "nothing of ours")],
  ])("counts as absent where it is %s", async (_, damage) => {
    const path = join(folder(), "kept.jsonl");
    await writeOutcomes(path, replayed);
    damage(path);
    expect(await readOutcomes(path)).toBeUndefined();
  });

  it("is removed when it is old, and nothing else is", async () => {
    const where = folder();
    const name = (digit: string): string => `${digit.repeat(64)}.jsonl`;
    for (const one of [name("a"), name("b"), `${name("c")}.x.tmp`, "notes.txt"]) writeFileSync(join(where, one), "");
    for (const one of [name("a"), `${name("c")}.x.tmp`, "notes.txt"]) utimesSync(join(where, one), 0, 0);
    await removeOldOutcomes(where, Date.now());
    expect(readdirSync(where).toSorted()).toEqual([name("b"), "notes.txt"]);
    await removeOldOutcomes(join(where, "not-there"), Date.now());
  });

  it("lies in the user's cache", () => {
    expect(outcomesFolder({ HOME: "/home/ada" })).toBe("/home/ada/.cache/palimpsest/replay");
    expect(outcomesFolder({ HOME: "/home/ada", XDG_CACHE_HOME: "/cache" })).toBe("/cache/palimpsest/replay");
  });
});

describe("replaying one file", () => {
  const jobIn = (where: string) => createFileJob(file, { ...options, keptFolder: where, traceFolder: where });

  it("keeps its outcomes and writes every request to its trace, in order", async () => {
    const job = jobIn(folder());
    const rounds = Array.from({ length: 5_000 }, (_, round) => ({ round, filler: "x".repeat(100) }));
    const answer = await replayJob(
      {
        replay: async ({ onRequest }) => {
          for (const line of rounds) onRequest?.(line as never);
          return replayed;
        },
      },
      job,
    );
    expect(answer).toEqual({ kind: "kept" });
    expect(await readOutcomes(job.keptPath)).toEqual(replayed);
    const lines = readFileSync(job.tracePath ?? "", "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rounds);
  });

  it("is asked for as the job says", async () => {
    const job = createFileJob(file, {
      ...options,
      keptFolder: folder(),
      windowTokens: "none",
      refetch: "free",
      cache: "prefix",
      compaction: "extract",
    });
    const asked: object[] = [];
    await replayJob({ replay: async (request) => (asked.push(request), replayed) }, { ...job, tracePath: undefined });
    const { path, policies, prices, windowTokens, refetch, cache, compaction } = job;
    expect(asked).toEqual([{ path, policies, prices, windowTokens, refetch, cache, compaction }]);
  });

  it("tells a bug that it meets as the file's own failure, and leaves neither outcomes nor half a trace", async () => {
    const where = folder();
    const replay = async ({ onRequest }: { readonly onRequest?: (line: never) => void }): Promise<never> => {
      onRequest?.({ round: 0 } as never);
      throw new TypeError("x is not a function");
    };
    expect(await replayJob({ replay }, jobIn(where))).toEqual({ kind: "failed", message: "x is not a function" });
    expect(readdirSync(where)).toEqual([]);
  });

  it("leaves no trace of a file without a session", async () => {
    const where = folder();
    await replayJob({ replay: async () => ({ kind: "skipped", why: "empty" }) }, jobIn(where));
    expect(readdirSync(where)).toHaveLength(1);
  });
});

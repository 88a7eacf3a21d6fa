import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  countCoverage,
  recordTurns,
  replayExtractions,
  type TurnRecords,
} from "../packages/lab/src/memory/replay-extraction.ts";
import { createReplayWorld } from "../packages/lab/src/replay-world.ts";
import { sum } from "../packages/lab/src/statistics.ts";
import { type ExtractionRule, saysWhatLasts } from "../packages/palimpsest/src/layers/5-extract/plan.ts";
import { isArray, tryParseJson } from "../packages/palimpsest/src/schema/json.ts";
import { getPreset } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import { recordingsBelow } from "./need-table.ts";

/**
 * What extraction of memories costs, and what it covers, under rules that start it at different moments.
 * `node scripts/extraction-costs.ts <folder>…` prints the tables of docs/layers/5-extract.md over the recorded sessions of
 * each folder; nothing is written.
 */
const lifetimes = ["5m", "1h"] as const;
type LifetimeName = (typeof lifetimes)[number];

/** As in the table of notes. */
const roundsMin = 30;

type When = Omit<ExtractionRule, "turnsMax">;

const corrections = "at-once";
const atEnd = "while-warm";

const rules: readonly (readonly [name: string, when: When])[] = [
  ["each turn", { everyTurns: 1 }],
  ["each third turn", { everyTurns: 3 }],
  ["a correction or 8,000 tokens", { corrections, growthTokens: 8_000 }],
  ["a correction", { corrections }],
  ["the end", { atEnd }],
  ["a correction or 8,000 tokens; the end", { corrections, growthTokens: 8_000, atEnd }],
  ["a correction or 20,000 tokens; the end", { corrections, growthTokens: 20_000, atEnd }],
  ["a correction or 40,000 tokens; the end", { corrections, growthTokens: 40_000, atEnd }],
  ["40,000 tokens; the end", { growthTokens: 40_000, atEnd }],
  ["80,000 tokens; the end", { growthTokens: 80_000, atEnd }],
  ["each eighth turn; the end", { everyTurns: 8, atEnd }],
  ["a correction or each eighth turn; the end", { corrections, everyTurns: 8, atEnd }],
  ["a correction; the end", { corrections, atEnd }],
];

/** The beginnings of the hashes of all messages that matter, as a reader judged them one by one. */
function readMatters(): (message: string) => boolean {
  const file = resolve(import.meta.dirname, "lasting-messages.json");
  const listed = tryParseJson(readFileSync(file, "utf8"));
  if (!isArray(listed)) throw new Error(`${file} is no list`);
  const hashes = new Set(listed);
  return (message) => hashes.has(createHash("sha256").update(message).digest("hex").slice(0, 12));
}

export interface RuleRow {
  readonly forks: number;
  /** Per cent of what the conversations cost. */
  readonly costPercent: number;
  /** Per cent of the messages that matter. */
  readonly soonPercent: number;
  readonly beforeEndPercent: number;
  readonly everPercent: number;
}

export function measureRule(
  when: When,
  { sessions, matters }: { readonly sessions: readonly TurnRecords[]; readonly matters: (message: string) => boolean },
): RuleRow {
  const replayed = sessions.map((session) => {
    const extractions = replayExtractions({ turnsMax: 5, ...when }, session);
    return { session, extractions, coverage: countCoverage(session, { extractions, matters }) };
  });
  const messages = sum(replayed.map(({ coverage }) => coverage.messages));
  const share = (covered: readonly number[]): number => (100 * sum(covered)) / messages;
  return {
    forks: sum(replayed.map(({ extractions }) => extractions.length)),
    costPercent:
      (100 * sum(replayed.flatMap(({ extractions }) => extractions.map(({ cost }) => cost)))) /
      sum(sessions.map(({ cost }) => cost)),
    soonPercent: share(replayed.map(({ coverage }) => coverage.soon)),
    beforeEndPercent: share(replayed.map(({ coverage }) => coverage.beforeEnd)),
    everPercent: share(replayed.map(({ coverage }) => coverage.ever)),
  };
}

type Sessions = Readonly<Record<LifetimeName, readonly TurnRecords[]>>;

async function readSessions(folder: string): Promise<Sessions> {
  const sessions: Record<LifetimeName, TurnRecords[]> = { "5m": [], "1h": [] };
  for await (const recording of recordingsBelow(folder)) {
    if (recording.rounds.length < roundsMin) continue;
    const world = createReplayWorld(recording);
    for (const lifetime of lifetimes) {
      const turns = await recordTurns(world, { policy: getPreset("palimpsest"), lifetime });
      if (turns !== undefined) sessions[lifetime].push(turns);
    }
  }
  return sessions;
}

function printHits(sessions: readonly TurnRecords[], matters: (message: string) => boolean): void {
  const said = sessions.flatMap(({ turns }) => turns.flatMap((turn) => turn.said));
  const rounds = sum(sessions.map(({ turns }) => (turns.at(-1)?.round ?? -1) + 1));
  const found = said.filter(saysWhatLasts);
  const hits = found.filter(matters).length;
  console.log(
    `${sessions.length} sessions, ${rounds} rounds, ${said.length} messages of the user, ${said.filter(matters).length} matter; the wording finds ${found.length}, of which ${hits} matter`,
  );
}

function printTable(sessions: Sessions, matters: (message: string) => boolean): void {
  console.log(
    "| after | forks | 5m | 1h | covered within 10 rounds | before the end | in all |\n| --- | --- | --- | --- | --- | --- | --- |",
  );
  for (const [name, when] of rules) {
    const row = measureRule(when, { sessions: sessions["5m"], matters });
    const hour = measureRule(when, { sessions: sessions["1h"], matters });
    const cells = [
      name,
      row.forks,
      row.costPercent.toFixed(2),
      hour.costPercent.toFixed(2),
      ...[row.soonPercent, row.beforeEndPercent, row.everPercent].map((percent) => percent.toFixed(0)),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

if (import.meta.main) {
  const folders = process.argv.slice(2);
  if (folders.length === 0) throw new Error("name folders of recorded sessions");
  const matters = readMatters();
  const all: Record<LifetimeName, TurnRecords[]> = { "5m": [], "1h": [] };
  for (const [at, folder] of folders.entries()) {
    const sessions = await readSessions(resolve(folder));
    for (const lifetime of lifetimes) all[lifetime].push(...sessions[lifetime]);
    console.log(`\nFolder ${at + 1}`);
    printHits(sessions["5m"], matters);
    printTable(sessions, matters);
  }
  if (folders.length === 1) process.exit();
  console.log("\nTogether");
  printHits(all["5m"], matters);
  printTable(all, matters);
}

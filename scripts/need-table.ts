import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { residentTokensMin } from "../packages/palimpsest/src/cache/limits.ts";
import {
  findAgeBand,
  ageBandsRoundsMin,
  type NeedCount,
  type NeedTable,
  type NeedToolKind,
  needToolKinds,
  noNeeds,
  findSizeBand,
  sizeBandsTokensMax,
} from "../packages/palimpsest/src/cache/need-bands.ts";
import { chanceIn, computeChances, needToolKind } from "../packages/palimpsest/src/cache/need-chance.ts";
import { readRecording } from "../packages/lab/src/recording/read-recording.ts";
import type { Recording } from "../packages/lab/src/recording/recording.ts";
import { blobId, type ToolUseId } from "../packages/palimpsest/src/schema/brand.ts";
import { memoryByteSource } from "../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { fileAction, callFilePath } from "../packages/palimpsest/src/tokens/tool-kind.ts";

/**
 * Counts how often results of recorded sessions are needed again, by kind of tool, size and age; texts are not kept.
 * `node scripts/need-table.ts <folder>` (or PALIMPSEST_CORPUS) writes need-table.data.ts of the engine's cache folder, and
 * prints how well one half of the sessions predicts the other.
 */
export interface Sighting {
  readonly kind: NeedToolKind;
  readonly tokens: number;
  readonly ageRounds: number;
  readonly isNeeded: boolean;
}

/** For every result, each time it enters an age band after its last use: whether it was needed then or later. */
export function sightingsIn(recording: Recording): Sighting[] {
  const calls = callsOf(recording);
  return resultsOf(recording).flatMap(({ toolUse, tokens }) => {
    const call = calls.get(toolUse);
    const need = recording.needs.get(toolUse);
    if (call === undefined || need === undefined || tokens < residentTokensMin) return [];
    const uses = [need.born, ...need.strongRounds, ...call.changedRounds.filter((round) => round > need.born)];
    const useRounds = [...new Set(uses)].toSorted((one, other) => one - other);
    return useRounds.flatMap((from, at) => {
      const until = Math.min(useRounds[at + 1] ?? Infinity, recording.rounds.length - 1);
      return ageBandsRoundsMin.flatMap((min) => {
        // Nothing is decided in the round of the use itself.
        const ageRounds = Math.max(1, min);
        const round = from + ageRounds;
        const isNeeded = need.strongRounds.some((strong) => strong >= round);
        return round > until ? [] : [{ kind: call.kind, tokens, ageRounds, isNeeded }];
      });
    });
  });
}

interface RecordedCall {
  readonly kind: NeedToolKind;
  /** Rounds in which the file of this read was changed, until a later read superseded it. */
  readonly changedRounds: readonly number[];
}

interface FileRounds {
  readonly reads: number[];
  readonly changes: number[];
}

function callsOf({ rounds }: Recording): Map<ToolUseId, RecordedCall> {
  const files = new Map<string, FileRounds>();
  const found = rounds.flatMap(({ reply }, at) =>
    reply
      .flatMap(({ blocks }) => blocks)
      .flatMap((block) => {
        if (block.type !== "tool_use") return [];
        const path = callFilePath(block);
        const action = path === undefined ? undefined : fileAction(block.name);
        const file = files.get(path ?? "") ?? { reads: [], changes: [] };
        if (path !== undefined) files.set(path, file);
        if (action !== undefined) file[action === "read" ? "reads" : "changes"].push(at);
        return [{ block, at, readFile: action === "read" ? file : undefined }];
      }),
  );
  return new Map(
    found.map(({ block, at, readFile }) => {
      const changedRounds = readFile === undefined ? [] : changesSeenBy(at, readFile);
      return [block.id, { kind: needToolKind(block.name), changedRounds }];
    }),
  );
}

function changesSeenBy(readAt: number, { reads, changes }: FileRounds): readonly number[] {
  const first = changes.find((change) => change > readAt) ?? Infinity;
  const supersededAt = reads.find((read) => read > first) ?? Infinity;
  return changes.filter((change) => change >= first && change <= supersededAt);
}

interface RecordedResult {
  readonly toolUse: ToolUseId;
  readonly tokens: number;
}

const resultsOf = ({ rounds, tokensOf }: Recording): RecordedResult[] =>
  rounds.flatMap(({ before }) =>
    before
      .flatMap((entry) => (entry.kind === "user" ? entry.blocks : []))
      .flatMap((block) =>
        block.type === "tool_result" ? [{ toolUse: block.tool_use_id, tokens: tokensOf(block) }] : [],
      ),
  );

export function tableOf(sightings: Iterable<Sighting>): NeedTable {
  const counts = new Map<string, NeedCount>();
  for (const { kind, tokens, ageRounds, isNeeded } of sightings) {
    const key = cellKey(kind, { size: findSizeBand(tokens), age: findAgeBand(ageRounds) });
    const { needed, seen } = counts.get(key) ?? noNeeds;
    counts.set(key, { needed: needed + (isNeeded ? 1 : 0), seen: seen + 1 });
  }
  const ofKind = (kind: NeedToolKind): readonly (readonly NeedCount[])[] =>
    sizeBandsTokensMax.map((_, size) =>
      ageBandsRoundsMin.map((__, age) => counts.get(cellKey(kind, { size, age })) ?? noNeeds),
    );
  return {
    read: ofKind("read"),
    shell: ofKind("shell"),
    search: ofKind("search"),
    change: ofKind("change"),
    other: ofKind("other"),
  };
}

const cellKey = (kind: NeedToolKind, { size, age }: { readonly size: number; readonly age: number }): string =>
  `${kind} ${size} ${age}`;

export interface CalibrationRow {
  readonly chanceMax: number;
  readonly results: number;
  readonly predicted: number;
  readonly observed: number;
}

const chanceBands = [0.02, 0.05, 0.1, 0.25, 1] as const;

/** Compares what the table of some sessions predicts with what was observed in others. */
export function calibration(table: NeedTable, observed: readonly Sighting[]): CalibrationRow[] {
  const chances = computeChances(table);
  const predicted = observed.map((sighting) => ({
    chance: chanceIn(chances, sighting),
    isNeeded: sighting.isNeeded,
  }));
  return chanceBands.map((chanceMax, at) => {
    const inBand = predicted.filter(({ chance }) => chance <= chanceMax && chance > (chanceBands[at - 1] ?? -1));
    return {
      chanceMax,
      results: inBand.length,
      predicted: mean(inBand.map(({ chance }) => chance)),
      observed: mean(inBand.map(({ isNeeded }) => (isNeeded ? 1 : 0))),
    };
  });
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;

export interface NeededShare {
  results: number;
  needed: number;
  tokens: number;
  neededTokens: number;
}

/** Of the results that are at least this many rounds old, how many were needed later. */
export function neededAfter(recordings: readonly Recording[], rounds: number): Map<string, NeededShare> {
  const shares = new Map<string, NeededShare>();
  for (const recording of recordings) {
    const calls = callsOf(recording);
    for (const { toolUse, tokens } of resultsOf(recording)) {
      const need = recording.needs.get(toolUse);
      const kind = calls.get(toolUse)?.kind;
      if (need === undefined || kind === undefined || need.born + rounds >= recording.rounds.length) continue;
      const isNeeded = need.strongRounds.some((round) => round >= need.born + rounds);
      for (const name of tokens > largeTokens ? ["all", kind, `${kind}, large`] : ["all", kind]) {
        const share = shares.get(name) ?? { results: 0, needed: 0, tokens: 0, neededTokens: 0 };
        shares.set(name, share);
        share.results += 1;
        share.tokens += tokens;
        share.needed += isNeeded ? 1 : 0;
        share.neededTokens += isNeeded ? tokens : 0;
      }
    }
  }
  return shares;
}

const largeTokens = 2_000;

function sourceOf(table: NeedTable, conditions: string): string {
  const kinds = needToolKinds.map((kind) => {
    const sizes = table[kind].map((ages) => {
      const cells = ages.map(({ needed, seen }) => `{ needed: ${needed}, seen: ${seen} }`);
      return `    [\n${cells.map((cell) => `      ${cell},\n`).join("")}    ],\n`;
    });
    return `  ${kind}: [\n${sizes.join("")}  ],\n`;
  });
  return `import type { NeedTable } from "./need-bands.ts";

/**
 * Made by \`node scripts/need-table.ts <folder of recorded sessions>\`: nothing here is changed by hand.
 * ${conditions}
 */
export const needTable: NeedTable = {
${kinds.join("")}};
`;
}

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

export async function readRecordingsBelow(folder: string): Promise<Recording[]> {
  const recordings: Recording[] = [];
  for await (const recording of recordingsBelow(folder)) recordings.push(recording);
  return recordings;
}

/** One after the other: a large folder does not fit in memory. */
export async function* recordingsBelow(folder: string): AsyncGenerator<Recording> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()) {
    const reading = await readRecording({ sha256 }, { file: path, source: memoryByteSource(readFileSync(path)) });
    if (reading.kind === "recording") yield reading.recording;
  }
}

const percent = (share: number): string => (Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`);

function printTable(title: string, table: NeedTable): void {
  console.log(
    `\n${title}: needed of seen, by size (down) and age in rounds (${ageBandsRoundsMin.join(", ")} and over)`,
  );
  for (const kind of needToolKinds)
    for (const [size, ages] of table[kind].entries())
      console.log(
        `${kind.padEnd(7)} ≤ ${String(sizeBandsTokensMax[size]).padEnd(9)}`,
        ages.map(({ needed, seen }) => `${needed}/${seen}`.padStart(9)).join(""),
      );
}

function printCalibration(title: string, rows: readonly CalibrationRow[]): void {
  console.log(`\n${title}`);
  for (const { chanceMax, results, predicted, observed } of rows)
    console.log(
      `chance ≤ ${chanceMax}: ${results} results, predicted ${percent(predicted)}, observed ${percent(observed)}`,
    );
}

function printShares(recordings: readonly Recording[]): void {
  console.log("\nNeeded on strong evidence 3 rounds after birth or later (large: over 2,000 tokens)");
  for (const [name, { results, needed, tokens, neededTokens }] of neededAfter(recordings, 3))
    console.log(
      `${name.padEnd(14)} ${needed}/${results} = ${percent(needed / results)}, by tokens ${percent(neededTokens / tokens)}`,
    );
}

async function main(folder: string): Promise<void> {
  const recordings = await readRecordingsBelow(folder);
  const rounds = recordings.reduce((sum, recording) => sum + recording.rounds.length, 0);
  const long = recordings.filter((recording) => recording.rounds.length >= 30).length;
  console.log(`${recordings.length} sessions, ${long} of at least 30 rounds, ${rounds} rounds`);
  printShares(recordings);
  const halves = [0, 1].map((half) => recordings.filter((_, at) => at % 2 === half).flatMap(sightingsIn));
  const [first = [], second = []] = halves;
  printTable("One half", tableOf(first));
  printTable("The other half", tableOf(second));
  printCalibration("One half predicts the other", calibration(tableOf(first), second));
  printCalibration("The other half predicts the one", calibration(tableOf(second), first));
  const table = tableOf([...first, ...second]);
  printTable("All", table);
  const conditions = `From ${recordings.length} sessions with ${rounds} rounds.`;
  writeFileSync(
    resolve(import.meta.dirname, "../packages/palimpsest/src/cache/need-table.data.ts"),
    sourceOf(table, conditions),
  );
}

if (import.meta.main) {
  const folder = process.argv[2] ?? process.env["PALIMPSEST_CORPUS"];
  if (folder === undefined) console.error("Name the folder of recorded sessions, or set PALIMPSEST_CORPUS.");
  else await main(resolve(folder));
}

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import type { NeedTable } from "palimpsest/internal/cache/need-bands";
import type { Policy } from "palimpsest/internal/layers/policy";
import {
  type CacheName,
  type CompactionName,
  type PriceName,
  type RefetchName,
  outcomeShape,
} from "@palimpsest/lab/internal/replay-outcome";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { z } from "zod";
import type { ReplayFileOutcome } from "@palimpsest/lab/internal/replay-file";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { keptDaysMax } from "./limits.ts";

/** One file to replay. Passed to a thread, so only data. */
export interface FileJob {
  readonly path: string;
  readonly sizeBytes: number;
  readonly policies: readonly string[];
  readonly prices: readonly PriceName[];
  readonly windowTokens: WindowTokens;
  readonly refetch: RefetchName;
  readonly cache: CacheName;
  readonly compaction: CompactionName;
  /** Where the outcomes are stored; the name is derived from everything they depend on. */
  readonly keptPath: string;
  readonly tracePath: string | undefined;
}

/** `none`: no limit. Undefined: the default. */
export type WindowTokens = number | "none" | undefined;

export interface SessionFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMillis: number;
}

/** What outcomes depend on besides the file. */
export interface JobOptions extends Pick<
  FileJob,
  "policies" | "prices" | "windowTokens" | "refetch" | "cache" | "compaction"
> {
  /** Of the program and of what it computes. */
  readonly version: string;
  /** See `rulesHash`. */
  readonly rules: string;
  readonly keptFolder: string;
  readonly traceFolder: string | undefined;
}

/** The same file with the same options has the same names, so a run finds the outcomes of an earlier one. */
export function createFileJob(file: SessionFile, options: JobOptions): FileJob {
  const { policies, prices, windowTokens, refetch, cache, compaction, version, rules } = options;
  const settings = [policies, prices, windowTokens ?? null, refetch, cache, compaction, version, rules];
  const parts = [file.path, file.sizeBytes, file.modifiedMillis, ...settings];
  const key = hashJson(parts);
  const { traceFolder } = options;
  return {
    path: file.path,
    sizeBytes: file.sizeBytes,
    policies,
    prices,
    windowTokens,
    refetch,
    cache,
    compaction,
    keptPath: join(options.keptFolder, `${key}.jsonl`),
    tracePath:
      traceFolder === undefined
        ? undefined
        : join(traceFolder, `${basename(file.path)}.${key.slice(0, 8)}.trace.jsonl`),
  };
}

/** A hash of everything that policies decide by: after a change of one number, the old outcomes must not be found. */
export const rulesHash = (rules: { readonly policies: readonly Policy[]; readonly needTable: NeedTable }): string =>
  hashJson([rules.policies.map(hashJson), hashJson(rules.needTable)]);

export const hashJson = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex");

/** The user's cache, `~/.cache/palimpsest/replay` unless `XDG_CACHE_HOME` says otherwise. */
export const outcomesFolder = (env: Readonly<NodeJS.ProcessEnv>): string =>
  join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "palimpsest", "replay");

/** Creates it and removes what is too old. */
export async function prepareOutcomesFolder(env: Readonly<NodeJS.ProcessEnv>, nowMillis: number): Promise<string> {
  const folder = outcomesFolder(env);
  await makeFolder(folder);
  await removeOldOutcomes(folder, nowMillis);
  return folder;
}

const outcomesHeadShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("replayed"), outcomes: z.number() }),
  z.object({ kind: z.literal("skipped"), why: z.string() }),
]);

/** Writes a head with the number of outcomes, then one outcome a line. */
export async function writeOutcomes(path: string, file: ReplayFileOutcome): Promise<void> {
  const lines =
    file.kind === "replayed" ? [{ kind: file.kind, outcomes: file.outcomes.length }, ...file.outcomes] : [file];
  const data = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await replaceFile({ path, data, sync: "unsynced" });
}

/** Undefined if nothing is stored or the file is incomplete: then the file is replayed again. */
export async function readOutcomes(path: string): Promise<ReplayFileOutcome | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  const [first = "", ...rest] = text?.trimEnd().split("\n") ?? [];
  const head = outcomesHeadShape.safeParse(tryParseJson(first)).data;
  if (head?.kind !== "replayed") return head;
  const outcomes = rest.flatMap((line) => outcomeShape.safeParse(tryParseJson(line)).data ?? []);
  return outcomes.length === head.outcomes ? { kind: "replayed", outcomes } : undefined;
}

/** Must not reject: old files that stay are no reason not to replay. */
export async function removeOldOutcomes(folder: string, nowMillis: number): Promise<void> {
  const oldest = nowMillis - keptDaysMax * 24 * 60 * 60_000;
  const names = await readdir(folder).catch((): readonly string[] => []);
  for (const name of names.filter((file) => /^[\da-f]{64}\.jsonl(\.|$)/.test(file))) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { force: true }).catch(() => undefined);
  }
}

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import type { NeedTable } from "palimpsest/internal/cache/need-bands";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { CacheName, CompactionName, PriceName, RefetchName } from "@palimpsest/lab/internal/outcome";

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
  /** Where the outcomes are kept; the name says what they are outcomes of. */
  readonly keptPath: string;
  readonly tracePath: string | undefined;
}

/** `none`: no limit. Undefined: the usual one. */
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

/** The same file with the same options has the same names, so a run finds what an earlier one did. */
export function jobOf(file: SessionFile, options: JobOptions): FileJob {
  const { policies, prices, windowTokens, refetch, cache, compaction, version, rules } = options;
  const computed = [policies, prices, windowTokens ?? null, refetch, cache, compaction, version, rules];
  const parts = [file.path, file.sizeBytes, file.modifiedMillis, ...computed];
  const key = hashOf(parts);
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

/** Of everything that policies decide by: a number changed in one of them must not find what the old one did. */
export const rulesHash = (rules: { readonly policies: readonly Policy[]; readonly needTable: NeedTable }): string =>
  hashOf([rules.policies.map(hashOf), hashOf(rules.needTable)]);

export const hashOf = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex");

import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

/** One figure and its limit. `value` is a ratio if a peer was measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The figure must stay at or below this. */
  readonly limit?: number;
  readonly detail: string;
}

export interface BenchCase {
  readonly name: string;
  run(): Promise<readonly Figure[]>;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** Returns milliseconds. */
export function timed(act: () => void): number {
  const start = performance.now();
  act();
  return performance.now() - start;
}

export function conditions(): { readonly [name: string]: string } {
  return {
    commit: git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") === "" ? "" : " with changes"),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}`,
  };
}

function git(...args: string[]): string {
  try {
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    // Benches also run from a tarball, without git.
    return "unknown";
  }
}

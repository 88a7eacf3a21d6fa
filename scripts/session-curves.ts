import { resolve } from "node:path";
import { millisByLifetime } from "../packages/palimpsest/src/cache/lifetime.ts";
import { readRecordingsBelow } from "./need-table.ts";

/**
 * Two curves that the planner's numbers rest on, from recorded sessions: how many rounds a session goes on after so many
 * rounds, and how likely a gap between five minutes and an hour is so many rounds after the last one.
 * `node scripts/session-curves.ts <folder>` prints them; nothing is written.
 */
export interface RemainingRounds {
  readonly roundsSoFar: number;
  readonly sessions: number;
  readonly mean: number;
  readonly median: number;
}

const roundsSoFar = [0, 10, 20, 30, 50, 80, 120, 200] as const;

/** Sessions that are over by then do not count. */
export function remainingRounds(recordings: readonly { readonly rounds: readonly unknown[] }[]): RemainingRounds[] {
  return roundsSoFar.flatMap((so) => {
    const left = recordings.map(({ rounds }) => rounds.length - so).filter((remaining) => remaining > 0);
    const sorted = left.toSorted((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    if (median === undefined) return [];
    const sum = left.reduce((total, remaining) => total + remaining, 0);
    return [{ roundsSoFar: so, sessions: left.length, mean: sum / left.length, median }];
  });
}

export interface GapRow {
  /** Rounds since the last gap are below this; `Infinity`: long ago. `none`: there was no gap yet. */
  readonly roundsMax: number | "none";
  readonly rounds: number;
  readonly gaps: number;
}

const roundsSinceGapMax = [10, 30, Infinity] as const;

export function gapRows(recordings: readonly { readonly rounds: readonly { readonly at: number }[] }[]): GapRow[] {
  const rows = ["none" as const, ...roundsSinceGapMax].map((roundsMax) => ({ roundsMax, rounds: 0, gaps: 0 }));
  for (const { rounds } of recordings) {
    let since: number | undefined;
    for (const [at, { at: sentAt }] of rounds.entries()) {
      const next = rounds[at + 1];
      if (next === undefined) break;
      const gap = next.at - sentAt;
      const isGap = gap >= millisByLifetime["5m"] && gap < millisByLifetime["1h"];
      const row = rows.find(({ roundsMax }) =>
        since === undefined ? roundsMax === "none" : roundsMax !== "none" && since < roundsMax,
      );
      if (row === undefined) throw new Error("every round has a row");
      row.rounds += 1;
      row.gaps += isGap ? 1 : 0;
      since = isGap ? 0 : since === undefined ? undefined : since + 1;
    }
  }
  return rows;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("name a folder of recorded sessions");
  const recordings = await readRecordingsBelow(resolve(folder));
  console.log("rounds so far  sessions  further rounds, mean  median");
  for (const { roundsSoFar: so, sessions, mean, median } of remainingRounds(recordings))
    console.log(
      `${String(so).padStart(13)}  ${String(sessions).padStart(8)}  ${mean.toFixed(0).padStart(20)}  ${median}`,
    );
  console.log("rounds since a gap  rounds  gaps of 5 to 60 minutes  chance");
  for (const { roundsMax, rounds, gaps } of gapRows(recordings)) {
    const since = roundsMax === "none" ? "no gap yet" : roundsMax === Infinity ? "more" : `below ${roundsMax}`;
    const chance = rounds === 0 ? "-" : `${((100 * gaps) / rounds).toFixed(2)} %`;
    console.log(`${since.padStart(18)}  ${String(rounds).padStart(6)}  ${String(gaps).padStart(23)}  ${chance}`);
  }
}

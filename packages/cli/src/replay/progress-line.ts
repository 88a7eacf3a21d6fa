import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { clipped, humanCount } from "../human.ts";

export interface Progress {
  readonly doneFiles: number;
  readonly allFiles: number;
  readonly doneBytes: number;
  readonly allBytes: number;
  readonly elapsedMillis: number;
  readonly columns: number;
}

const barWidth = 20;
/** Before that, a rate says more about starting than about the work. */
const rateMillisMin = 2_000;

/** By bytes, not by files: the largest come first, and a thousand small ones behind them take no time. */
export function progressLine(progress: Progress): string {
  const { doneFiles, allFiles, doneBytes, allBytes, elapsedMillis, columns } = progress;
  const share = allBytes === 0 ? 1 : doneBytes / allBytes;
  const full = Math.floor(share * barWidth);
  const bar = `${"█".repeat(full)}${"░".repeat(barWidth - full)}`;
  const words = [`${bar} ${humanCount(doneFiles)} of ${humanCount(allFiles)} files`, `${Math.floor(share * 100)} %`];
  if (elapsedMillis >= rateMillisMin && doneBytes > 0) {
    const bytesPerMilli = doneBytes / elapsedMillis;
    words.push(`${humanBytes(bytesPerMilli * 1_000)}/s`, `${timeText((allBytes - doneBytes) / bytesPerMilli)} left`);
  }
  return clipped(words.join("  "), columns - 1);
}

export function timeText(millis: number): string {
  const seconds = Math.ceil(millis / 1_000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

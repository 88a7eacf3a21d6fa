// Readings in files, one a station and day. Nothing here reads the clock: whoever calls says what time it is.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseReadings } from "./reading.js";

/** Older files go to the archive. */
const keptMillis = 14 * 86_400_000;

/** A file that was changed so lately may still be written. */
const settledMillis = 10 * 60_000;

export const fileOf = (station, day) => `${station.toLowerCase()}-${day}.txt`;

export function stationAndDay(file) {
  const parts = /^(?<station>[a-z]+)-(?<day>\d{4}-\d\d-\d\d)\.txt$/.exec(file)?.groups;
  return parts === undefined ? undefined : { station: parts.station.toUpperCase(), day: parts.day };
}

export const readingsIn = (folder, file) => parseReadings(readFileSync(join(folder, file), "utf8"));

/** Which of these files go to the archive. */
export function archived(files, now) {
  return files.filter((file) => {
    const named = stationAndDay(file);
    return named !== undefined && now - Date.parse(named.day) > keptMillis;
  });
}

export const isSettled = (changedAt, now) => now - changedAt > settledMillis;

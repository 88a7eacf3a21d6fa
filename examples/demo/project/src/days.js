// Readings of one station by the day at its place.

import { localDay } from "./clock.js";

/** From day to its readings, in the order of time. */
export function byDay(readings, { offsetMinutes }) {
  return Map.groupBy(readings, ({ at }) => localDay(at, offsetMinutes));
}

/** Each day with its highest and lowest reading; of equal ones the first. */
export function extremes(readings, station) {
  return [...byDay(readings, station)].map(([day, ofDay]) => ({
    day,
    highest: ofDay.reduce((best, reading) => (reading.levelCm > best.levelCm ? reading : best)),
    lowest: ofDay.reduce((best, reading) => (reading.levelCm < best.levelCm ? reading : best)),
    mean: Math.round(ofDay.reduce((sum, { levelCm }) => sum + levelCm, 0) / ofDay.length),
    count: ofDay.length,
  }));
}

/** Undefined where nothing was measured on that day. */
export const extremesOf = (readings, { station, day }) =>
  extremes(readings, station).find((extreme) => extreme.day === day);

/** The day of the highest level of all; of equal ones the first. */
export const floodDay = (readings, station) =>
  extremes(readings, station).reduce(
    (worst, extreme) => (worst === undefined || extreme.highest.levelCm > worst.highest.levelCm ? extreme : worst),
    undefined,
  )?.day;

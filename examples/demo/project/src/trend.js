// Where the river is going, by the readings of the last hours.

/** What the trend is told by. */
const trendMillis = 3 * 3_600_000;

/** Less than this an hour is no trend: wind does as much. */
const steadyCmPerHour = 2;

/** Of one station, in the order of time. Undefined where there is too little to tell. */
export function trendAt(readings, at) {
  const recent = readings.filter((reading) => reading.at <= at && reading.at > at - trendMillis);
  if (recent.length < 3) return undefined;
  const perHour = slope(recent);
  if (Math.abs(perHour) < steadyCmPerHour) return { direction: "steady", cmPerHour: 0 };
  return { direction: perHour > 0 ? "rising" : "falling", cmPerHour: Math.round(perHour) };
}

/** Least squares, in centimetres an hour. */
function slope(readings) {
  const hour = 1 * 3_600_000;
  const times = readings.map(({ at }) => (at - readings[0].at) / hour);
  const levels = readings.map(({ levelCm }) => levelCm);
  const [meanTime, meanLevel] = [mean(times), mean(levels)];
  const across = times.reduce((sum, time, index) => sum + (time - meanTime) * (levels[index] - meanLevel), 0);
  const along = times.reduce((sum, time) => sum + (time - meanTime) ** 2, 0);
  return along === 0 ? 0 : across / along;
}

const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** When a level is reached, if it goes on like this. Undefined where it never is. */
export function reachedAt({ levelCm, at }, { cmPerHour }, wantedCm) {
  const missing = wantedCm - levelCm;
  if (missing <= 0) return at;
  return cmPerHour <= 0 ? undefined : at + (missing / cmPerHour) * (1 * 3_600_000);
}

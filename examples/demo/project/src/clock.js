// Times are milliseconds since 1970, in UTC. Only days know about places.

export const minutes = (count) => count * 60_000;
export const hours = (count) => minutes(60 * count);
export const days = (count) => hours(24 * count);

/** The day at a place, as `2026-03-14`. East of Greenwich the offset is positive. */
export function localDay(at, offsetMinutes) {
  return new Date(at + offsetMinutes * 1_000).toISOString().slice(0, 10);
}

/** When a day begins at a place. */
export function dayStart(day, offsetMinutes) {
  const start = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(start)) throw new Error(`${day} is no day`);
  return start - minutes(offsetMinutes);
}

export const nextDay = (day) => new Date(Date.parse(`${day}T12:00:00Z`) + days(1)).toISOString().slice(0, 10);

/** `14:05`, in UTC. */
export const clockTime = (at) => new Date(at).toISOString().slice(11, 16);

/** Both ends belong to it. */
export function* daysBetween(first, last) {
  for (let day = first; day <= last; day = nextDay(day)) yield day;
}

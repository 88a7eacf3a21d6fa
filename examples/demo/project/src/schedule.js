// When bulletins are due: in the morning, and more often while there is an alarm.

import { dayStart } from "./clock.js";

/** After the day has begun at the place. */
const morningMillis = 7 * 3_600_000;

/** By alarm: how long until the next one. */
const pauseMillisByAlarm = [24 * 3_600_000, 6 * 3_600_000, 1 * 3_600_000, 30 * 60_000];

export const morningOf = (day, { offsetMinutes }) => dayStart(day, offsetMinutes) + morningMillis;

/** `last`: when the last one was written, and at which alarm. */
export function nextDue(last, alarm) {
  const pause = pauseMillisByAlarm[alarm];
  if (pause === undefined) throw new Error(`there is no alarm ${alarm}`);
  // It has got worse: nobody waits for the pause of a better hour.
  return alarm > last.alarm ? last.at : last.at + pause;
}

export const isDue = (last, { alarm, now }) => now >= nextDue(last, alarm);

/** The times of one day at a place, if the alarm stays as it is. */
export function timesOfDay(day, station, alarm) {
  const pause = pauseMillisByAlarm[alarm];
  const end = dayStart(day, station.offsetMinutes) + 24 * 3_600_000;
  const times = [];
  for (let at = morningOf(day, station); at < end; at += pause) times.push(at);
  return times;
}

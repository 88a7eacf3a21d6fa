// Which alarm a level means: 0 is none, 3 the highest.

/** An alarm is not taken back sooner, or a wave on the sill would ring it twice. */
const holdMillis = 6 * 3_600_000;

export function alarmOf(levelCm, { alarmsCm }) {
  return alarmsCm.filter((limit) => levelCm >= limit).length;
}

/** Changes of the alarm, in the order of time. It rises at once and falls only when it has held long enough. */
export function alarmChanges(readings, station) {
  const changes = [];
  let current = 0;
  let since = Number.NEGATIVE_INFINITY;
  for (const { at, levelCm } of readings) {
    const alarm = alarmOf(levelCm, station);
    if (alarm === current) {
      since = alarm === 0 ? since : at;
      continue;
    }
    if (alarm < current && at - since < holdMillis) continue;
    changes.push({ at, from: current, to: alarm });
    current = alarm;
    since = at;
  }
  return changes;
}

const names = ["none", "watch", "warning", "flood"];

export function alarmName(alarm) {
  const name = names[alarm];
  if (name === undefined) throw new Error(`there is no alarm ${alarm}`);
  return name;
}

/** What is missing until the next alarm; undefined at the highest. */
export function untilNext(levelCm, station) {
  const next = station.alarmsCm.find((limit) => levelCm < limit);
  return next === undefined ? undefined : next - levelCm;
}

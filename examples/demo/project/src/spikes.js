// Driftwood under the float lifts it for a moment. No river rises like that.

/** What comes back within this time was no water. */
const spikeMillis = 20 * 60_000;

/** Of a level against both neighbours. */
const spikeCm = 60;

/** Readings without spikes. The first and the last have one neighbour only, and stay. */
export function withoutSpikes(readings) {
  return readings.filter((reading, index) => !isSpike(reading, readings[index - 1], readings[index + 1]));
}

export function isSpike(reading, before, after) {
  if (before === undefined || after === undefined) return false;
  if (after.at - before.at > 2 * spikeMillis) return false;
  const up = reading.levelCm - before.levelCm;
  const down = reading.levelCm - after.levelCm;
  return Math.abs(up) >= spikeCm && Math.abs(down) >= spikeCm && Math.sign(up) === Math.sign(down);
}

/** For the station's log: how many of how many, and the worst of them. */
export function spikeReport(readings) {
  const spikes = readings.filter((reading, index) => isSpike(reading, readings[index - 1], readings[index + 1]));
  const worst = spikes.toSorted((one, other) => Math.abs(other.levelCm) - Math.abs(one.levelCm))[0];
  return { count: spikes.length, of: readings.length, worst };
}

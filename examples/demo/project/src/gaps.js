// Gauges fall silent: batteries, ice, herons. Short gaps are bridged, long ones are named.

/** From here on a pause is a gap. */
const gapMillis = 45 * 60_000;

/** A longer gap is not bridged: a flood fits into it. */
const bridgedMillis = 4 * 3_600_000;

/** Distance of what is put into a gap. */
const stepMillis = 15 * 60_000;

/** Of one station, in the order of time. */
export function gapsIn(readings) {
  const gaps = [];
  for (const [index, reading] of readings.entries()) {
    const before = readings[index - 1];
    if (before === undefined || reading.at - before.at < gapMillis) continue;
    gaps.push({ from: before.at, to: reading.at, kind: isBridged(before, reading) ? "bridged" : "open" });
  }
  return gaps;
}

/** With readings of our own in short gaps, on a straight line between both ends. They are doubtful. */
export function withBridges(readings) {
  return readings.flatMap((reading, index) => {
    const before = readings[index - 1];
    if (before === undefined || reading.at - before.at < gapMillis || !isBridged(before, reading)) return [reading];
    return [...bridge(before, reading), reading];
  });
}

const isBridged = (before, after) => after.at - before.at <= bridgedMillis;

function* bridge(before, after) {
  for (let at = before.at + stepMillis; at < after.at; at += stepMillis) {
    const share = (at - before.at) / (after.at - before.at);
    const levelCm = Math.round(before.levelCm + share * (after.levelCm - before.levelCm));
    yield { at, station: after.station, levelCm, quality: "doubtful" };
  }
}

/** Share of a day that is covered, 0 to 1. */
export function coverage(readings, { from, to }) {
  const open = gapsIn(readings).filter(({ kind }) => kind === "open");
  const lost = open.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.to, to) - Math.max(gap.from, from)), 0);
  return 1 - lost / (to - from);
}

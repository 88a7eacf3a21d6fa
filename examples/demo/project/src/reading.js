// One line of a gauge: `2026-03-14T22:40Z HARROW 312`, with a mark at the end where the gauge doubts itself.

const form = /^(?<at>\d{4}-\d\d-\d\dT\d\d:\d\dZ) (?<station>[A-Z]{3,12}) (?<level>-?\d{1,4})(?<mark> \?)?$/;

/** Undefined where the line is no reading: gauges also send greetings and battery levels. */
export function parseReading(line) {
  const parts = form.exec(line.trim())?.groups;
  if (parts === undefined) return undefined;
  const at = Date.parse(parts.at);
  if (Number.isNaN(at)) return undefined;
  return {
    at,
    station: parts.station,
    levelCm: Number(parts.level),
    quality: parts.mark === undefined ? "sure" : "doubtful",
  };
}

/** In the order of time, one a moment: where a gauge repeats itself, what it said last counts. */
export function parseReadings(text) {
  const byMoment = new Map();
  for (const line of text.split("\n")) {
    const reading = parseReading(line);
    if (reading !== undefined) byMoment.set(`${reading.station} ${reading.at}`, reading);
  }
  return [...byMoment.values()].toSorted((one, other) => one.at - other.at);
}

/** As gauges write it. */
export function readingLine({ at, station, levelCm, quality }) {
  const moment = `${new Date(at).toISOString().slice(0, 16)}Z`;
  return `${moment} ${station} ${levelCm}${quality === "doubtful" ? " ?" : ""}`;
}

export const ofStation = (readings, station) => readings.filter((reading) => reading.station === station);

/** Those of `[from, to)`. */
export const within = (readings, { from, to }) => readings.filter(({ at }) => at >= from && at < to);

// The bulletin of a station and a day.

import { alarmName, alarmOf, untilNext } from "./alarms.js";
import { clockTime } from "./clock.js";
import { extremesOf } from "./days.js";
import { withBridges } from "./gaps.js";
import { flowText } from "./rating.js";
import { withoutSpikes } from "./spikes.js";
import { stationOf } from "./stations.js";
import { table, underlined } from "./table.js";
import { trendAt } from "./trend.js";
import { changeText, levelText } from "./units.js";

/** What the bulletin says, as data. Undefined where nothing was measured on that day. */
export function bulletinData(readings, { code, day }) {
  const station = stationOf(code);
  const clean = withBridges(withoutSpikes(readings));
  const extreme = extremesOf(clean, { station, day });
  if (extreme === undefined) return undefined;
  const { highest, lowest } = extreme;
  const last = clean.at(-1);
  return {
    station,
    day,
    highest,
    lowest,
    range: highest.levelCm - lowest.levelCm,
    alarm: alarmOf(highest.levelCm, station),
    untilNext: untilNext(highest.levelCm, station),
    trend: trendAt(clean, last.at),
    now: last.at,
  };
}

export function bulletin(readings, { code, day, unit = "metric" }) {
  const data = bulletinData(readings, { code, day });
  if (data === undefined) return `${code}, ${day}: nothing was measured.`;
  const { station, highest, lowest, range, alarm, trend, now } = data;
  return [
    underlined(`${station.name} on the ${station.river}, ${day}`),
    table([
      ["highest", levelText(highest.levelCm, unit), `at ${clockTime(highest.at)} UTC`],
      ["lowest", levelText(lowest.levelCm, unit), `at ${clockTime(lowest.at)} UTC`],
      ["range", changeText(range), ""],
      ["flow", flowText(code, highest.levelCm, now), ""],
    ]),
    `Alarm: ${alarmName(alarm)}. ${trend === undefined ? "No trend." : `The river is ${trend.direction}.`}`,
  ].join("\n");
}

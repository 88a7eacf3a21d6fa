import assert from "node:assert/strict";
import { it } from "node:test";
import { alarmChanges, alarmName, alarmOf, untilNext } from "../src/alarms.js";
import { isDue, morningOf, nextDue, timesOfDay } from "../src/schedule.js";
import { allStations, ofRiver, silentStations, stationOf } from "../src/stations.js";
import { reachedAt, trendAt } from "../src/trend.js";

const station = stationOf("QUERN");
const hour = 3_600_000;
const start = Date.parse("2026-03-14T06:00Z");
const hourly = (...levels) => levels.map((levelCm, index) => ({ at: start + index * hour, levelCm }));

it("a level on the limit rings", () => {
  assert.deepEqual(
    [189, 190, 240, 300].map((level) => alarmName(alarmOf(level, station))),
    ["none", "watch", "warning", "flood"],
  );
  assert.equal(untilNext(200, station), 40);
  assert.equal(untilNext(301, station), undefined);
});

it("an alarm rises at once and holds for six hours", () => {
  const levels = [100, 250, 100, 100, 100, 100, 100, 100, 100];
  assert.deepEqual(
    alarmChanges(hourly(...levels), station).map(({ at, to }) => [(at - start) / hour, to]),
    [
      [1, 2],
      [7, 0],
    ],
  );
});

it("bulletins come more often the higher the alarm is", () => {
  const last = { at: start, alarm: 1 };
  assert.equal(nextDue(last, 1) - start, 6 * hour);
  assert.equal(isDue(last, { alarm: 2, now: start }), true);
  assert.equal(morningOf("2026-03-14", station), start);
  assert.equal(timesOfDay("2026-03-14", station, 1).length, 3);
});

it("a river that rises tells when it arrives", () => {
  const readings = hourly(100, 110, 120, 130);
  const trend = trendAt(readings, start + 3 * hour);
  assert.deepEqual(trend, { direction: "rising", cmPerHour: 10 });
  assert.equal(reachedAt(readings.at(-1), trend, 150), start + 5 * hour);
});

it("a station is silent after two hours", () => {
  const newest = new Map(allStations().map(({ code }) => [code, start]));
  assert.equal(silentStations(newest, start + 2 * hour).length, 0);
  assert.equal(silentStations(newest, start + 2 * hour + 1).length, 6);
  assert.equal(ofRiver("Oske").length, 2);
});

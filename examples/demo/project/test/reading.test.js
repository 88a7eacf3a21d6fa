import assert from "node:assert/strict";
import { it } from "node:test";
import { ofStation, parseReading, parseReadings, readingLine, within } from "../src/reading.js";

const line = "2026-03-14T22:40Z HARROW 312";

it("a line of a gauge is read and written again", () => {
  assert.deepEqual(parseReading(line), {
    at: Date.parse("2026-03-14T22:40Z"),
    station: "HARROW",
    levelCm: 312,
    quality: "sure",
  });
  assert.equal(readingLine(parseReading(`${line} ?`)), `${line} ?`);
});

for (const other of ["", "battery 87 %", "2026-13-14T22:40Z HARROW 312", "2026-03-14T22:40Z HARROW high"])
  it(`${JSON.stringify(other)} is no reading`, () => assert.equal(parseReading(other), undefined));

it("what a gauge said last about a moment counts, in the order of time", () => {
  const text = ["2026-03-14T22:50Z HARROW 315", line, "2026-03-14T22:50Z HARROW 316"].join("\n");
  assert.deepEqual(
    parseReadings(text).map(({ levelCm }) => levelCm),
    [312, 316],
  );
});

it("readings are picked by station and time", () => {
  const readings = parseReadings(`${line}\n2026-03-14T22:40Z QUERN 101`);
  const [{ at }] = readings;
  assert.equal(ofStation(readings, "QUERN").length, 1);
  assert.equal(within(readings, { from: at, to: at }).length, 0);
  assert.equal(within(readings, { from: at, to: at + 1 }).length, 2);
});

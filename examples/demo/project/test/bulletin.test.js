import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { bulletin, bulletinData } from "../src/bulletin.js";
import { flowAt, flowText } from "../src/rating.js";
import { archived, isSettled, readingsIn, stationAndDay } from "../src/store.js";
import { wrapped } from "../src/table.js";
import { levelText } from "../src/units.js";

const folder = join(import.meta.dirname, "../data");
const readings = readingsIn(folder, "harrow-2026-03-14.txt");

it("a bulletin says what a day was like", () => {
  const text = bulletin(readings, { code: "HARROW", day: "2026-03-15" });
  assert.match(text, /^Harrow Bridge on the Lenn, 2026-03-15\n-{37}\n/);
  assert.match(text, /Alarm: warning\. The river is \w+\.$/);
});

it("a bulletin names the highest level of its day", () => {
  const { highest } = bulletinData(readings, { code: "HARROW", day: "2026-03-15" });
  assert.equal(highest.levelCm, 412);
});

it("a day without readings is told as such", () => {
  assert.equal(bulletin(readings, { code: "HARROW", day: "2026-04-01" }), "HARROW, 2026-04-01: nothing was measured.");
});

it("levels and flows are written for people", () => {
  assert.equal(levelText(312, "both"), "3.12 m (10.2 ft)");
  assert.equal(flowAt("HARROW", 320), 96);
  assert.equal(flowText("QUERN", 80, Date.parse("2026-03-14")), "about 5 m³/s");
  assert.equal(wrapped("the river is steady", 10), "the river\nis steady");
});

it("files are kept for two weeks", () => {
  const now = Date.parse("2026-03-29T00:00Z");
  assert.deepEqual(archived(["harrow-2026-03-14.txt", "quern-2026-03-15.txt", "notes.md"], now), [
    "harrow-2026-03-14.txt",
  ]);
  assert.deepEqual(stationAndDay("quern-2026-03-15.txt"), { station: "QUERN", day: "2026-03-15" });
  assert.equal(isSettled(now - 600_001, now), true);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { coverage, gapsIn, withBridges } from "../src/gaps.js";
import { isSpike, spikeReport, withoutSpikes } from "../src/spikes.js";

const start = Date.parse("2026-03-14T10:00Z");
const minute = 60_000;
const series = (...points) =>
  points.map(([after, levelCm]) => ({ at: start + after * minute, station: "QUERN", levelCm, quality: "sure" }));

describe("a gap", () => {
  it("is a pause of three quarters of an hour", () => {
    assert.equal(gapsIn(series([0, 100], [44, 100])).length, 0);
    assert.equal(gapsIn(series([0, 100], [45, 100])).length, 1);
  });

  it("is bridged on a straight line", () => {
    const bridged = withBridges(series([0, 100], [60, 140]));
    assert.deepEqual(
      bridged.map(({ levelCm }) => levelCm),
      [100, 110, 120, 130, 140],
    );
  });

  it("stays open where a flood would fit in", () => {
    const readings = series([0, 100], [241, 140]);
    assert.equal(withBridges(readings).length, 2);
    assert.equal(coverage(readings, { from: start, to: start + 482 * minute }), 0.5);
  });
});

describe("a spike", () => {
  it("goes up and comes back at once", () => {
    const readings = series([0, 100], [10, 170], [20, 105]);
    assert.equal(withoutSpikes(readings).length, 2);
    assert.deepEqual(spikeReport(readings), { count: 1, of: 3, worst: readings[1] });
  });

  it("is none where the water stays or the neighbours are far", () => {
    assert.equal(isSpike(...spread([100, 170, 165])), false);
    assert.equal(isSpike(...spread([100, 170, 105], 30)), false);
  });

  const spread = ([before, level, after], step = 10) => {
    const [first, middle, last] = series([0, before], [step, level], [2 * step, after]);
    return [middle, first, last];
  };
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clockTime, dayStart, daysBetween, localDay, minutes, nextDay } from "../src/clock.js";

describe("a day", () => {
  it("is that of the place at noon", () => {
    assert.equal(localDay(Date.parse("2026-03-14T12:00Z"), 60), "2026-03-14");
    assert.equal(localDay(Date.parse("2026-03-14T12:00Z"), -300), "2026-03-14");
  });

  it("begins earlier in the east", () => {
    assert.equal(dayStart("2026-03-15", 60), Date.parse("2026-03-14T23:00Z"));
  });

  it("is followed by the next, also at the end of a month", () => {
    assert.equal(nextDay("2026-02-28"), "2026-03-01");
    assert.deepEqual([...daysBetween("2026-12-30", "2027-01-01")], ["2026-12-30", "2026-12-31", "2027-01-01"]);
  });
});

it("a time is shown in hours and minutes", () => {
  assert.equal(clockTime(Date.parse("2026-03-14T05:07Z")), "05:07");
  assert.equal(minutes(3), 180_000);
});

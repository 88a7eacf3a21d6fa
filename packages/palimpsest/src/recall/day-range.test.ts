import { describe, expect, it } from "vitest";
import { calendarDay, dayNumber, findDates, findDayRanges } from "./day-range.ts";

/** A Thursday. */
const today = dayNumber("2023-06-15") ?? NaN;

const iso = (day: number): string => {
  const { year, month, day: inMonth } = calendarDay(day);
  return `${year}-${String(month + 1).padStart(2, "0")}-${String(inMonth).padStart(2, "0")}`;
};

const resolve = (text: string): string[] =>
  findDayRanges(text, today).map(({ from, to }) => (from === to ? iso(from) : `${iso(from)}..${iso(to)}`));

describe("time expressions, said on Thursday 15 June 2023", () => {
  it.each([
    ["today", "2023-06-15"],
    ["yesterday", "2023-06-14"],
    ["last night", "2023-06-14"],
    ["tomorrow", "2023-06-16"],
    ["the day before yesterday", "2023-06-13"],
    ["last week", "2023-06-05..2023-06-11"],
    ["this week", "2023-06-12..2023-06-18"],
    ["next week", "2023-06-19..2023-06-25"],
    ["last weekend", "2023-06-10..2023-06-11"],
    ["over the weekend", "2023-06-10..2023-06-11"],
    ["last friday", "2023-06-09"],
    ["on thursday", "2023-06-08"],
    ["next friday", "2023-06-16"],
    ["two days ago", "2023-06-13"],
    ["a week ago", "2023-06-05..2023-06-11"],
    ["3 months ago", "2023-03-01..2023-03-31"],
    ["last month", "2023-05-01..2023-05-31"],
    ["last year", "2022-01-01..2022-12-31"],
    ["in the past two weeks", "2023-06-01..2023-06-15"],
    ["may 7", "2023-05-07"],
    ["on the 7th of may", "2023-05-07"],
    ["december 24th", "2022-12-24"],
    ["july 2022", "2022-07-01..2022-07-31"],
    ["in march", "2023-03-01..2023-03-31"],
  ])("%s is %s", (text, days) => {
    expect(resolve(text)).toEqual([days]);
  });

  it.each(["you may come", "we march on", "the week was long", "it is 7 o'clock"])("%s is none", (text) => {
    expect(resolve(text)).toEqual([]);
  });
});

describe("dates", () => {
  it("have a day and a year only if they are written", () => {
    expect(findDates("in may 2023, on 3 june, on 2023-07-04 and in august")).toEqual([
      { month: 4, day: undefined, year: 2023 },
      { month: 5, day: 3, year: undefined },
      { month: 6, day: 4, year: 2023 },
      { month: 7, day: undefined, year: undefined },
    ]);
  });

  it("are read from the beginning of a time stamp", () => {
    expect(dayNumber("1970-01-02T23:59:59Z")).toBe(1);
    expect(dayNumber("yesterday")).toBeUndefined();
  });
});

import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { pageKeptMs, pagesCharsMax, pagesMax } from "./limits.ts";
import { PageCache } from "./get-page.ts";

const page = (text: string) => ({ url: "u", title: undefined, text });

test("a page is kept for a quarter of an hour, and not longer", () => {
  const pages = new PageCache();
  pages.put("a", { page: page("x"), at: millis(1_000) });
  expect(pages.get("a", millis(1_000 + pageKeptMs - 1))).toEqual(page("x"));
  expect(pages.get("a", millis(1_000 + pageKeptMs))).toBeUndefined();
  expect(pages.get("a", millis(1_000))).toBeUndefined();
});

test("a clock that was put back keeps nothing for longer", () => {
  const pages = new PageCache();
  pages.put("a", { page: page("x"), at: millis(1_000) });
  expect(pages.get("a", millis(999))).toBeUndefined();
});

test("of too many pages, and of too long ones, the oldest go", () => {
  const pages = new PageCache();
  for (let nth = 0; nth <= pagesMax; nth += 1) pages.put(`p${nth}`, { page: page("x"), at: millis(0) });
  expect([pages.get("p0", millis(0)), pages.get("p1", millis(0))]).toEqual([undefined, page("x")]);
  pages.put("long", { page: page("y".repeat(pagesCharsMax - 1)), at: millis(0) });
  expect([pages.get("p48", millis(0)), pages.get(`p${pagesMax}`, millis(0))]).toEqual([undefined, page("x")]);
  pages.put("long", { page: page("short"), at: millis(0) });
  pages.put("p0", { page: page("z"), at: millis(0) });
  expect(pages.get(`p${pagesMax}`, millis(0))).toEqual(page("x"));
});

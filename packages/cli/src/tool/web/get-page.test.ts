import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { pageKeptMs, pagesCharsMax, pagesMax } from "./limits.ts";
import { PageCache, isPublicAddress } from "./get-page.ts";

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

test.each([
  "1.1.1.1",
  "93.184.216.34",
  "172.15.255.255",
  "172.32.0.1",
  "100.128.0.1",
  "2606:4700::1111",
  "2a00:1450:4001::1",
])("%s is on the open net", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  ["this machine", "127.0.0.1"],
  ["this machine", "127.255.0.9"],
  ["this machine", "0.0.0.0"],
  ["this machine", "::1"],
  ["this machine", "::"],
  ["a private net", "10.0.0.1"],
  ["a private net", "172.16.0.1"],
  ["a private net", "172.31.255.255"],
  ["a private net", "192.168.1.1"],
  ["a private net", "fd00::1"],
  ["a cloud's own", "169.254.169.254"],
  ["a cloud's own", "168.63.129.16"],
  ["link-local", "fe80::1"],
  ["link-local with its zone", "fe80::1%eth0"],
  ["shared", "100.64.0.1"],
  ["a group", "224.0.0.1"],
  ["a group", "ff02::1"],
  ["reserved", "255.255.255.255"],
  ["an IPv4 address inside", "::ffff:127.0.0.1"],
  ["an IPv4 address inside", "::ffff:7f00:1"],
  ["an IPv4 address inside", "64:ff9b::a00:1"],
  ["an IPv4 address inside", "2002:7f00:1::"],
  ["an IPv4 address inside", "2001:0:7f00:1::"],
  ["an example", "2001:db8::1"],
  ["no address", "localhost"],
  ["no address", ""],
])("%s is not: %s", (_what, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

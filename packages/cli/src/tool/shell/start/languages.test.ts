import { expect, test } from "vitest";
import { maySedExecute } from "./languages.ts";

test.each([
  "s/a/b/",
  "s|a/b|c|g",
  "s,a\\,e,b,p;s/x/e/2",
  "1,5p",
  "$d",
  "/e/d",
  "/a/,/e/{p;d;}",
  "/^\\n*$/{$d;N;};/\\n$/ba",
  ":a;N;$!ba;s/\\n/ /g",
  "\\,e,!d",
  "y/abc/xyz/",
  "a\\\nexec this",
  "1i exec",
  "s/a/b/w out",
  "0~3p;2q",
  "s/[a-e]/x/",
  "# e\np",
  "/x/I p",
])("%j runs no program", (script) => {
  expect(maySedExecute(script)).toBe(false);
});

test.each([
  "e",
  "1e ls",
  "s/.*/ls/e",
  "s/a/b/ge",
  "s|a|b|pe",
  "/a/e",
  "/a/{p;e\n}",
  "p;1,2!e ls",
  "s/a/b/;s/.*/ls/e",
  "y/a/b/;e",
  "\\,x,e",
  "s/[/]/e/e",
  "s/a/b",
  "s/a/b/q",
  "v\ne",
  ":a;e",
  "a text\ne",
])("%j may run one, or is not understood", (script) => {
  expect(maySedExecute(script)).toBe(true);
});

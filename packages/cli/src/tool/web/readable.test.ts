import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { htmlCharsMax, textCharsMax } from "./limits.ts";
import { readPage } from "./web-fetch-tool.ts";

const read = (text: string, contentType = "text/plain") =>
  readPage({ kind: "body", url: "https://a.org/", contentType, bytes: Buffer.from(text) });

/** By the processor's clock: what other processes take is not counted. */
function now(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds that anything else of the process waited at most while it was read. */
async function longestWait(reading: Promise<unknown>): Promise<number> {
  const over = { is: false };
  void reading.finally(() => (over.is = true));
  let longest = 0;
  let before = now();
  while (!over.is) {
    await turn();
    const after = now();
    longest = Math.max(longest, after - before);
    before = after;
  }
  return longest;
}

const waitMs = 100;

test.each([
  "<a ",
  "<",
  "<ul><li>",
  "<ul><li>x",
  '<a href="x">y',
  "</",
  "<br>\n",
  "<pre>\n",
  "word ",
  "&amp;",
  "<title>x",
])("a page that is all %j holds nobody up", async (piece) => {
  const source = piece.repeat(htmlCharsMax / piece.length);
  expect(await longestWait(read(source, "text/html"))).toBeLessThan(waitMs);
});

test.each(["\r", "\r\n", "\u200B", "x", "<web_page"])("a text that is all %j holds nobody up", async (piece) => {
  expect(await longestWait(read(piece.repeat((2 * textCharsMax) / piece.length)))).toBeLessThan(waitMs);
});

test.each([
  "\u00AD",
  "\u034F",
  "\u061C",
  "\u115F",
  "\u180E",
  "\u200B",
  "\u202E",
  "\u2063",
  "\u3164",
  "\uFE0F",
  "\uFEFF",
  "\uFFA0",
  "\u{E0041}",
  "\u{E0100}",
  "\u{E01EF}",
])("a letter that nobody sees is left out: %j", async (letter) => {
  expect(await read(`a${letter}b`)).toMatchObject({ page: { text: "ab" } });
});

test.each(["\u{1F600}", "\r\n", "é", "\u{E0100}"])(
  "what stands where a text is cut into pieces is as anywhere else: %j",
  async (piece) => {
    const many = 200_000;
    const shown = await read(`x${piece.repeat(many)}`);
    const one = await read(`x${piece}`);
    if (shown.kind !== "page" || one.kind !== "page") throw new Error("no page");
    expect(shown.page.text).toBe(`x${one.page.text.slice(1).repeat(many)}`);
  },
);

test("of a text that is too long the start is told, and that it goes on", async () => {
  const shown = await read("x".repeat(textCharsMax + 1));
  if (shown.kind !== "page") throw new Error("no page");
  expect(shown.page.text.slice(textCharsMax)).toMatch(/^\n\n\[The page goes on: only the first 3000000 characters/);
});

import { createHash } from "node:crypto";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { estimateBlock, uncalibratedPadding, memoizeCount } from "./estimate-block.ts";
import type { Block } from "../schema/block.ts";

/** The same numbers each time: a table must not fail one day in a hundred. */
function dice(): (sides: number) => number {
  let state = 12_345;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return Math.floor((state / 0x8000_0000) * sides);
  };
}
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const roll = dice();
const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");
const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => roll(256)));
const two = (sides: number): string => String(roll(sides)).padStart(2, "0");
const parts = (hex: string, size: number): string => hex.match(new RegExp(`.{${size}}`, "g"))?.join(" ") ?? "";
const place = (at: number): string => (at * 16).toString(16).padStart(8, "0");
const uuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5");

/** Typical tool results that contain few words. */
const contents: Record<string, string> = {
  "a column of numbers": lines(20_000, (at) => String(at + 1)),
  "a short column": lines(100, (at) => String(at + 1)),
  "decimal fractions": lines(2_000, () => `${roll(1000)}.${two(100)}${two(100)}`),
  "moments in milliseconds": lines(300, () => String(1_700_000_000_000 + roll(1_000_000_000))),
  "a table of numbers with commas": lines(500, (at) => [at, roll(10), roll(1_000), roll(100_000)].join(",")),
  "a table with words and dates": lines(500, (at) => `${at},2026-03-${two(28)},${roll(100)}.${two(100)},north`),
  "a table with tabs": lines(500, () => Array.from({ length: 8 }, () => roll(256)).join("\t")),
  "a list of numbers": JSON.stringify(Array.from({ length: 2_000 }, () => roll(100_000))),
  "a hex dump by pairs": lines(200, (at) => `${place(at)}: ${parts(bytes(16).toString("hex"), 4)}  ................`),
  "a hex dump by bytes": lines(200, (at) => `${place(at)}  ${parts(bytes(16).toString("hex"), 2)}  |................|`),
  "base64 in lines": bytes(6_000).toString("base64").replaceAll(/.{76}/g, "$&\n"),
  "base64 in lines of 24": bytes(3_000).toString("base64").replaceAll(/.{24}/g, "$&\n"),
  "base64 in lines of 40": bytes(3_000).toString("base64").replaceAll(/.{40}/g, "$&\n"),
  "base64 in lines of 63": bytes(3_000).toString("base64").replaceAll(/.{63}/g, "$&\n"),
  "keys in JSON": lines(100, (at) => `{"id": ${at}, "key": "${bytes(33).toString("base64")}"}`),
  "base64 in one": bytes(6_000).toString("base64"),
  "long hashes with names": lines(200, (at) => `${sha256(String(at))}  src/file-${at}.ts`),
  "short hashes": lines(200, (at) => sha256(String(at)).slice(0, 40)),
  ids: lines(200, (at) => uuid(sha256(String(at)))),
  "hashes in capitals": lines(200, (at) => sha256(String(at)).slice(0, 40).toUpperCase()),
  "a history by commits": lines(200, (at) => `${sha256(String(at)).slice(0, 7)} Fix what broke in part ${at}`),
  "a log with times": lines(
    300,
    () => `2026-05-17T10:${two(60)}:${two(60)}.${two(100)}0Z INFO worker-${roll(8)} finished job ${roll(100_000)}`,
  ),
  "a log of requests": lines(
    300,
    () =>
      `10.${roll(256)}.${roll(256)}.7 - - [17/May/2026:10:${two(60)}:${two(60)} +0000] "GET /v1/items/${roll(9_999)}" 200 ${roll(50_000)}`,
  ),
  "a listing of files": lines(
    200,
    (at) => `-rw-r--r--  1 root root ${String(roll(100_000)).padStart(8)} May ${two(28)} 10:${two(60)} file-${at}.ts`,
  ),
  points: lines(300, () => `v 0.${roll(1_000_000)} -0.${roll(1_000_000)} 0.${roll(1_000_000)}`),
  "a path of a drawing": `M${Array.from({ length: 500 }, () => `${roll(100)}.${two(100)} ${roll(100)}.${two(100)}`).join("L")}`,
  "a table in markdown": lines(100, (at) => `| ${at} | name ${at} | ${roll(1_000)} | ${roll(10)}.${two(100)} % |`),
  "minified code": lines(
    30,
    () =>
      `!function(e,t){e.f=t()}(this,(function(){var e=${roll(99)},n=function(t,r){return t&&r?e[t]|r<<2:void 0};return{a:n}}));`,
  ),
  "numbered lines of code": lines(
    200,
    (at) => `${String(at + 1).padStart(6)}\t  const value${at} = await read(path, { limit: 5 });`,
  ),
  sentences: "The committee met on Sunday and agreed that the build was broken, for once. ".repeat(30),
};

describe("the padded start rates against o200k: at most 10 % under, at most twice", () => {
  it.each(Object.entries(contents))("%s", (_, text) => {
    const ratio = (estimateBlock({ type: "text", text }) * uncalibratedPadding) / countTokens(text);
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(2);
  });
});

it("uses the given counter, and counts each block once", () => {
  const counted: Block[] = [];
  const count = memoizeCount((block: Block) => {
    counted.push(block);
    return estimateBlock(block);
  });
  const blocks: readonly Block[] = ["one", "", "another"].map((text) => ({ type: "text", text }));
  for (const block of [...blocks, ...blocks]) expect(count(block)).toBe(estimateBlock(block));
  expect(counted).toEqual(blocks);
});

it("counts another block with the same words by itself", () => {
  const counted: Block[] = [];
  const count = memoizeCount((block: Block) => {
    counted.push(block);
    return estimateBlock(block);
  });
  expect(count({ type: "text", text: "one" })).toBe(count({ type: "text", text: "one" }));
  expect(counted).toHaveLength(2);
});

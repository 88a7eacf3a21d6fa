import { globSync, readFileSync } from "node:fs";
import { countTokens as countPublic } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { prose } from "../../../../test/fixture/prose.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { ToolChange } from "palimpsest/internal/schema/wire/wire-tool";
import { knownModels } from "palimpsest/internal/tokens/known-models";
import { createRandom } from "../random.ts";
import { countBlockTokens, countTokens, countToolTokens } from "./count-tokens.ts";

const random = createRandom(11);
const below = (limit: number): number => Math.floor(random() * limit);
const oneOf = (choices: readonly string[]): string => choices[below(choices.length)] ?? "";
const hex = (length: number): string => Array.from({ length }, () => below(16).toString(16)).join("");
const files = (pattern: string): string =>
  globSync(pattern, { exclude: (path) => path.endsWith(".test.ts") })
    .toSorted()
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");

const base64 = Buffer.from(Uint8Array.from({ length: 30_000 }, () => below(256))).toString("base64");

const logLine = (): string => {
  const time = `2026-11-${10 + below(20)}T${10 + below(14)}:${10 + below(50)}:${10 + below(50)}.${100 + below(900)}Z`;
  const said = oneOf(["request completed", "connection refused, retrying", "slow query", "unexpected end of stream"]);
  const frame = `    at ${oneOf(["Pool.acquire", "handleRequest", "async next"])} (/app/src/${oneOf(["db/pool", "http/router"])}.ts:${below(400)}:${below(80)})`;
  return below(4) === 0
    ? `TypeError: Cannot read properties of undefined (reading 'id')\n${frame}\n${frame}`
    : `${time} ${oneOf(["INFO", "WARN", "ERROR"])} [${oneOf(["http.server", "db.pool", "worker"])}] ${said} id=${hex(8)}-${hex(4)}-${hex(12)} status=${200 + below(300)} duration=${below(5_000)}ms`;
};

const texts: Readonly<Record<string, string>> = {
  "English prose": prose.english,
  "TypeScript source": files("packages/palimpsest/src/{transcript,tokens,session}/*.ts"),
  "JSON with indents": `${readFileSync("package.json", "utf8")}${JSON.stringify(knownModels, null, 2)}`,
  "JSON without": JSON.stringify([JSON.parse(readFileSync("package.json", "utf8")), ...knownModels]),
  Markdown: files("docs/*.md"),
  Chinese: prose.chinese,
  Japanese: prose.japanese,
  Korean: prose.korean,
  Russian: prose.russian,
  Arabic: prose.arabic,
  Greek: prose.greek,
  base64,
  "base64 in lines": base64.replaceAll(/.{76}/g, "$&\n"),
  hashes: Array.from({ length: 300 }, () => hex(40)).join("\n"),
  "logs and stack traces": Array.from({ length: 400 }, logLine).join("\n"),
};

describe("a text's tokens", () => {
  it.each(Object.entries(texts))("%s: within a fifth of a public encoding", (_, text) => {
    const ratio = countTokens(text) / countPublic(text);
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(1.2);
  });

  it.each([
    ["", 0],
    [" ", 1],
    ["\n", 1],
    ["a", 1],
    ["the quick brown fox", 4],
    ["getUserName", 3],
    ["1234567", 3],
    ["x = 1;\n\n    return x;", 9],
    ["--------------------------------", 1],
    ["你好", 1],
    ["🚀", 2],
    ["\ud83d", 1],
  ])("%j has %i", (text, tokens) => expect(countTokens(text)).toBe(tokens));

  it("an identifier of many parts costs more than a word of the same length", () => {
    expect(countTokens("readTheNextLineOfTheFile")).toBeGreaterThan(countTokens("counterrevolutionaries"));
  });

  it("grows with the text: two halves have about what the whole has", () => {
    for (const text of Object.values(texts)) {
      const at = Math.floor(text.length / 2);
      const halves = countTokens(text.slice(0, at)) + countTokens(text.slice(at));
      expect(Math.abs(halves - countTokens(text))).toBeLessThanOrEqual(40);
    }
  });
});

const pixels = (width: number, height: number): number => Math.ceil((width * height) / 750);
const encoded = (bytes: readonly number[]): string =>
  Buffer.concat([Uint8Array.from(bytes), new Uint8Array(40)]).toString("base64");
const latin = (text: string): readonly number[] => [...Buffer.from(text, "latin1")];
const image = (data: string): WireBlock => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

describe("an image's tokens", () => {
  const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, ...latin("IHDR"), 0, 0, 2, 0, 0, 0, 1, 0];
  it.each<[string, readonly number[], number]>([
    ["PNG of 512 by 256", png, pixels(512, 256)],
    ["GIF of 300 by 200", [...latin("GIF89a"), 0x2c, 1, 0xc8, 0], pixels(300, 200)],
    [
      "JPEG of 640 by 480 behind a profile",
      [0xff, 0xd8, 0xff, 0xe0, 0, 4, 9, 9, 0xff, 0xff, 0xc0, 0, 17, 8, 1, 0xe0, 2, 0x80],
      pixels(640, 480),
    ],
    [
      "lossy WebP of 400 by 300",
      [...latin("RIFF\0\0\0\0WEBPVP8 \0\0\0\0"), 0, 0, 0, 0x9d, 1, 0x2a, 0x90, 1, 0x2c, 1],
      pixels(400, 300),
    ],
    [
      "lossless WebP of 400 by 300",
      [...latin("RIFF\0\0\0\0WEBPVP8L\0\0\0\0"), 0x2f, 0x8f, 0xc1, 0x4a, 0],
      pixels(400, 300),
    ],
    [
      "extended WebP of 400 by 300",
      [...latin("RIFF\0\0\0\0WEBPVP8X\0\0\0\0"), 0, 0, 0, 0, 0x8f, 1, 0, 0x2b, 1, 0],
      pixels(400, 300),
    ],
    ["a PNG that is larger than what the model sees", [...png.slice(0, 16), 0, 0, 16, 0, 0, 0, 16, 0], 1_600],
    ["bytes of no known kind", latin("BM and then nothing that says a size"), 1_600],
    ["a JPEG that is cut off", [0xff, 0xd8, 0xff, 0xe0, 0xff], 1_600],
    ["nothing", [], 1_600],
  ])("%s", (_, bytes, tokens) => {
    expect(countBlockTokens(image(encoded(bytes)))).toBe(tokens);
  });

  it("one behind a URL counts as the largest", () => {
    expect(countBlockTokens({ type: "image", source: { type: "url", url: "https://example.com/a.png" } })).toBe(1_600);
  });
});

const pdf = (source: string): WireBlock => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: Buffer.from(source).toString("base64") },
});

describe("a block's tokens", () => {
  const said = "The quick brown fox jumps over the lazy dog.";
  const words = countTokens(said);
  it.each<[string, WireBlock, number]>([
    ["text", { type: "text", text: said }, words],
    ["thinking, without its signature", { type: "thinking", thinking: said, signature: base64 }, words],
    ["redacted thinking, which its seal counts", { type: "redacted_thinking", data: "x".repeat(400) }, 0],
    ["a result", { type: "tool_result", tool_use_id: "t", content: said }, words + 6],
    ["a result without content", { type: "tool_result", tool_use_id: "t" }, 6],
    [
      "a result of parts",
      {
        type: "tool_result",
        tool_use_id: "t",
        content: [
          { type: "text", text: said },
          { type: "text", text: said, cache_control: { type: "ephemeral" } },
        ],
      },
      2 * words + 6,
    ],
    ["a text document", { type: "document", source: { type: "text", media_type: "text/plain", data: said } }, words],
    [
      "a document of parts",
      { type: "document", source: { type: "content", content: [{ type: "text", text: said }] } },
      words,
    ],
    ["a PDF of two pages", pdf("<< /Type /Pages >> << /Type /Page >> <</Type/Page>>"), 3_000],
    ["a PDF whose tree alone is readable", pdf("<< /Type /Pages /Count 7 >>"), 10_500],
    ["a PDF that tells nothing", pdf("%PDF-1.7"), 1_500],
  ])("%s", (_, block, tokens) => expect(countBlockTokens(block)).toBe(tokens));

  it("a call costs its name and its input", () => {
    const call = (input: Record<string, string>): number =>
      countBlockTokens({ type: "tool_use", id: "toolu_1", name: "read_file", input });
    expect(call({ path: said }) - call({ path: "" })).toBeGreaterThanOrEqual(words - 1);
    expect(call({})).toBeGreaterThan(countTokens("read_file"));
  });

  it("a compaction costs its words and the changes of tools that it tells", () => {
    const definition = { name: "read_file", description: said, input_schema: { type: "object" } };
    const reference = { type: "tool_reference", name: "write_file" } as const;
    const compaction = (...changes: ToolChange[]): number =>
      countBlockTokens({ type: "compaction", content: said, tool_changes: changes });
    expect(compaction()).toBe(words);
    const defined: ToolChange = { type: "tool_addition", tool: { type: "tool_definition", definition } };
    expect(compaction(defined)).toBe(words + countToolTokens(definition));
    const removal: ToolChange = { type: "tool_removal", tool: reference };
    expect(compaction(removal, defined)).toBe(compaction(defined) + countBlockTokens(removal));
  });

  it("a tool costs its definition, and its marker nothing", () => {
    const tool = { name: "read_file", description: said, input_schema: { type: "object" } };
    const bare = countToolTokens(tool);
    expect(bare).toBeGreaterThan(words);
    expect(countToolTokens({ ...tool, cache_control: { type: "ephemeral", ttl: "1h" } })).toBe(bare);
    expect(countToolTokens({ ...tool, description: `${said} ${said}` })).toBeGreaterThanOrEqual(bare + words - 1);
  });
});

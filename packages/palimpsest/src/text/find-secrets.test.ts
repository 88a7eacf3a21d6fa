import { globSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMillis } from "../../../../test/fixture/cpu-millis.ts";
import { fakeSecrets } from "../../../../test/fixture/secrets.ts";
import { tryParseJson } from "../schema/json.ts";
import { findSecrets, joinFindings, maskFindings } from "./find-secrets.ts";

const mask = (text: string): string => maskFindings(text, findSecrets(text));

/** Whether eight characters in a row of a secret are left. */
const leaks = (text: string, secret: string): boolean =>
  Array.from({ length: Math.max(1, secret.length - 7) }, (_, at) => secret.slice(at, at + 8)).some((part) =>
    text.includes(part),
  );

describe("every shape of the table is found by the engine's own rules", () => {
  it("which has at least 40", () => {
    expect(fakeSecrets.length).toBeGreaterThanOrEqual(40);
    expect(new Set(fakeSecrets.map(({ kind }) => kind)).size).toBe(fakeSecrets.length);
  });

  it.each(fakeSecrets)("$kind", ({ text, secret }) => {
    expect(text).toContain(secret);
    expect(leaks(mask(text), secret)).toBe(false);
    expect(mask(mask(text))).toBe(mask(text));
  });

  it.each(fakeSecrets)("$kind, inside of JSON and among other lines", ({ text, secret }) => {
    const inJson = JSON.stringify({ note: `first line\n${text}\nlast line` });
    const masked = mask(inJson);
    expect(leaks(masked, JSON.stringify(secret).slice(1, -1))).toBe(false);
    expect(tryParseJson(masked)).toBeDefined();
  });
});

describe("findings", () => {
  it("say where, and never what", () => {
    const text = "one\ntwo password=hunter22\n\nDB_TOKEN=abcdef";
    const found = findSecrets(text);
    expect(found).toEqual([
      { kind: "password", start: 17, end: 25, line: 2 },
      { kind: "token", start: 36, end: 42, line: 4 },
    ]);
    expect(JSON.stringify(found)).not.toMatch(/hunter22|abcdef/);
  });

  it("that overlap become one, of the kind that comes first in the list", () => {
    const joined = joinFindings("0123456789", [
      { kind: "b", start: 4, end: 8 },
      { kind: "a", start: 2, end: 5 },
      { kind: "c", start: 9, end: 10 },
    ]);
    expect(joined.map(({ kind, start, end }) => [kind, start, end])).toEqual([
      ["b", 2, 8],
      ["c", 9, 10],
    ]);
  });

  it("are sorted, apart from each other and inside of the text, whatever it holds", () => {
    const pieces = fc.constantFrom(
      ...fakeSecrets.map(({ text }) => text),
      "plain words",
      "password=",
      "https://u:",
      "@host/x",
      "\n",
      '"',
      "token: ",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join(" ");
        let last = 0;
        for (const { start, end, line } of findSecrets(text)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(line).toBe(text.slice(0, start).split("\n").length);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 60 },
    );
  });
});

const sha = "3f785a1b2c3d4e5f60718293a4b5c6d7e8f90123";
describe("what looks random in code is no secret without a suspicious name", () => {
  it.each([
    `commit ${sha}`,
    `git checkout ${sha} && git log -1`,
    `"integrity": "sha512-IcOR87MpNjp/WTO7bVMsIj3qkhVD+Qr/oNaA0Xl4Ok1LqG4bjXu5RjiY0Kid70BoR9eCJgkoq5gNHDGXPx+o1g=="`,
    `const id = "123e4567-e89b-42d3-a456-426614174000";`,
    `key: "123e4567-e89b-42d3-a456-426614174000"`,
    `cache-key: ${sha}`,
    `<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==">`,
    `!function(e,t){"use strict";var n=e.tokenKey=function(a,b){return a?b:t}}(window,void 0);`,
    "const sessionKey = buildSessionKeyFromRequestAndUser2(request);",
    'key: "settings/appearance/FontSizeOfTheEditor2"',
    'webhook: "https://example.org/Hooks/Incoming/2024/ForTheTeam"',
    "the key is described in docs/Architecture2Overview.md",
    '"js-tiktoken": "^1.0.12"',
    "export ANTHROPIC_API_KEY=sk-ant-...",
    "GITSYNC_SOURCE_TOKEN=ghp_xxx git-sync",
    "token: Uint8Array, cachedToken: CachedX509Token",
  ])("%s", (text) => {
    expect(findSecrets(text)).toEqual([]);
  });

  it("and this project's own sources, documents and lock file have none", () => {
    const root = new URL("../../../../", import.meta.url).pathname;
    const files = globSync(["packages/*/src/**/*.ts", "docs/*.md", "*.md", "package-lock.json"], { cwd: root });
    const sources = files.filter((file) => !file.endsWith(".test.ts"));
    expect(sources.length).toBeGreaterThan(700);
    const found = sources.flatMap((file) =>
      findSecrets(readFileSync(root + file, "utf8")).map(({ kind, line }) => `${file}:${line} ${kind}`),
    );
    expect(found).toEqual([]);
  });
});

it("a long text with many secrets, addresses and one line is read in little time", () => {
  const texts = [
    "https://u:p4ss@h token=abc123def ".repeat(30_000),
    "-----BEGIN PRIVATE KEY-----\n".repeat(30_000),
    "api key ".repeat(100_000),
    `password is ${"aB3".repeat(200_000)}`,
    "a-".repeat(300_000),
  ];
  const started = cpuMillis();
  for (const text of texts) findSecrets(text);
  expect(cpuMillis() - started).toBeLessThan(4_000);
});

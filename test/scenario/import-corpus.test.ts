import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { translateLog } from "../../packages/palimpsest/src/import/detect-format.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { Fold } from "../../packages/palimpsest/src/transcript/fold.ts";
import type { LoggedEntry } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { importDeps } from "../fixture/imported.ts";
import { loggedOf } from "../fixture/log.ts";

/** Recorded sessions of other agents, kept outside the repository. Data, never instructions; never printed. */
const corpus = resolve(import.meta.dirname, "../..", process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus");
const formats = ["codex", "pi", "opencode", "copilot", "gemini", "swe-agent", "openhands"] as const;
const files = formats
  .filter((format) => existsSync(join(corpus, format)))
  .flatMap((format) => readdirSync(join(corpus, format)).map((name) => [format, name] as const));
const reason = files.length > 0 ? "" : " (left out: PALIMPSEST_CORPUS is not there)";

describe.skipIf(files.length === 0)(`recorded sessions of other agents${reason}`, () => {
  it.each(files)("%s/%s opens, loses no result and gives valid requests", (format, name) => {
    const text = readFileSync(join(corpus, format, name), "utf8");
    const outcome = translateLog({ text, deps: importDeps });
    if (outcome.kind !== "translated") throw new Error(outcome.kind);
    expect(outcome.format).toBe(format);
    const lines = outcome.entries.map((entry) => JSON.stringify(entry));
    const logged = loggedOf(lines);
    expect(logged).toHaveLength(lines.length);
    const source = countResults[format](text);
    expect(resultsOf(logged).length, "results of the source").toBe(source);
    livedWell(logged);
    const again = translateLog({ text, deps: importDeps });
    expect(again.kind === "translated" && again.entries.map(({ uuid }) => uuid)).toEqual(
      outcome.entries.map(({ uuid }) => uuid),
    );
  });

  const theirs = existsSync(join(corpus, "claude-code")) ? readdirSync(join(corpus, "claude-code")) : [];
  it.each(theirs)("claude-code/%s is left as it is", (name) => {
    const text = readFileSync(join(corpus, "claude-code", name), "utf8").slice(0, 65_536);
    expect(translateLog({ text, deps: importDeps })).toEqual({ kind: "as-it-is", format: "claude-code" });
  });
});

/** Folded live: well-formed at every entry, valid at every sendable point, every result in its place. */
function livedWell(logged: readonly LoggedEntry[]): void {
  const fold = new Fold({ origin: "foreign" });
  let sendable = 0;
  const broken = logged.flatMap((one, at) => {
    fold.append(one);
    const view = fold.view();
    if (view.sendable) sendable += 1;
    return violations(view.messages, { end: view.sendable ? "user" : "any" }).map(
      ({ rule }) => `entry ${at + 1}: ${rule}`,
    );
  });
  expect(broken).toEqual([]);
  expect(sendable).toBeGreaterThan(0);
  const { repairs, path } = fold.view();
  expect(path.problems).toEqual([]);
  expect(repairs.filter(({ kind }) => kind !== "synthetic-result")).toEqual([]);
}

const resultsOf = (logged: readonly LoggedEntry[]): unknown[] =>
  logged.flatMap(({ entry }) =>
    entry.kind === "user" ? entry.blocks.filter((block) => block.type === "tool_result") : [],
  );

/** Counted without our readers: by the words that each format marks a result with. */
const countResults: Record<(typeof formats)[number], (text: string) => number> = {
  codex: (text) => lineCount(text, (value) => word(inner(value, "payload"), "type").endsWith("_call_output")),
  pi: (text) => lineCount(text, (value) => inner(value, "message")["role"] === "toolResult"),
  opencode: (text) =>
    list(JSON.parse(text), "messages")
      .flatMap((message) => list(message, "parts"))
      .filter((part) => /^(?:completed|error)$/.test(word(inner(part, "state"), "status"))).length,
  copilot: (text) => lineCount(text, (value) => value["type"] === "tool.execution_complete"),
  gemini: (text) => text.split('"functionResponse"').length - 1,
  "swe-agent": (text) => list(JSON.parse(text), "trajectory").length,
  openhands: (text) =>
    (JSON.parse(text) as JsonObject[])
      .flatMap((record) => list(record, "messages"))
      .filter(({ role }) => role === "tool").length,
};

const lineCount = (text: string, is: (value: JsonObject) => boolean): number =>
  text.split("\n").filter((line) => line !== "" && is(JSON.parse(line) as JsonObject)).length;
const inner = (value: JsonObject, key: string): JsonObject => (value[key] ?? {}) as JsonObject;
const word = (value: JsonObject, key: string): string => {
  const found = value[key];
  return typeof found === "string" ? found : "";
};
const list = (value: unknown, key: string): JsonObject[] =>
  ((value as JsonObject)[key] ?? []) as unknown as JsonObject[];

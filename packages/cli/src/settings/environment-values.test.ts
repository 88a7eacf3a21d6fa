import { describe, expect, it } from "vitest";
import { type SettingName, settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import { environmentValues } from "./environment-values.ts";
import { flagValues } from "./flag-values.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";

const off = (env: Record<string, string>): readonly SettingName[] =>
  [...environmentValues(env).givenByName].filter(([, { value }]) => value === false).map(([name]) => name);
const said = (env: Record<string, string>): readonly string[] => environmentValues(env).problems.map(formatProblem);

describe("names that users know", () => {
  it("DISABLE_COMPACT turns off everything that rewrites the view, /compact too", () => {
    expect(off({ DISABLE_COMPACT: "1" })).toEqual([
      "autoCompactEnabled",
      "flags.clear.size",
      "flags.clear.idle",
      "flags.clear.cacheEdits",
      "flags.clear.api",
      "flags.snip",
      "flags.collapse",
      "flags.notesCompact",
      "flags.compact.manual",
      "flags.compact.auto",
      "flags.compact.reactive",
      "flags.compact.background",
      "flags.compact.server",
      "flags.compact.agent",
    ]);
  });

  it("DISABLE_AUTO_COMPACT turns off what nobody asked for, and leaves /compact and clearing alone", () => {
    expect(off({ DISABLE_AUTO_COMPACT: "true" })).toEqual([
      "autoCompactEnabled",
      "flags.compact.auto",
      "flags.compact.reactive",
      "flags.compact.background",
      "flags.compact.server",
    ]);
  });

  it("DISABLE_MICROCOMPACT turns off clear.size, clear.idle and clear.cacheEdits", () => {
    expect(off({ DISABLE_MICROCOMPACT: "yes" })).toEqual([
      "flags.clear.size",
      "flags.clear.idle",
      "flags.clear.cacheEdits",
    ]);
  });

  it.each<[string, SettingName, unknown]>([
    ["CLAUDE_CODE_MAX_CONTEXT_TOKENS", "contextTokens", 123_456],
    ["PALIMPSEST_CONTEXT_TOKENS", "contextTokens", 123_456],
    ["CLAUDE_CODE_MAX_OUTPUT_TOKENS", "outputTokensMax", 123_456],
    ["CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", "blockingTokens", 123_456],
  ])("%s sets %s", (variable, name, value) => {
    expect(environmentValues({ [variable]: "123456" }).givenByName.get(name)).toEqual({
      value,
      source: `environment ${variable}`,
      from: variable,
    });
  });

  it("of our name and another's, ours counts", () => {
    const env = { CLAUDE_CODE_MAX_CONTEXT_TOKENS: "100000", PALIMPSEST_CONTEXT_TOKENS: "50000" };
    expect(environmentValues(env).givenByName.get("contextTokens")?.from).toBe("PALIMPSEST_CONTEXT_TOKENS");
  });

  it("a name that turns off wins over one that turns on", () => {
    const env = { DISABLE_MICROCOMPACT: "1", PALIMPSEST_FLAG_CLEAR_SIZE: "1" };
    expect(environmentValues(env).givenByName.get("flags.clear.size")).toMatchObject({
      value: false,
      from: "DISABLE_MICROCOMPACT",
    });
  });
});

describe("switches in the environment", () => {
  it.each(["1", "true", "yes", "on", "TRUE", " Yes "])("%j is on", (text) => {
    expect(environmentValues({ PALIMPSEST_FLAG_SNIP: text }).givenByName.get("flags.snip")?.value).toBe(true);
  });
  it.each(["0", "false", "no", "off", "False"])("%j is off, and no DISABLE", (text) => {
    expect(environmentValues({ PALIMPSEST_FLAG_OFFLOAD: text }).givenByName.get("flags.offload")?.value).toBe(false);
    expect(environmentValues({ DISABLE_COMPACT: text }).givenByName.size).toBe(0);
  });
  it("an empty one is not set", () => {
    const env = { DISABLE_COMPACT: "", PALIMPSEST_MODEL: "", PALIMPSEST_FLAG_SNIP: "" };
    expect(environmentValues(env)).toEqual({ givenByName: new Map(), problems: [] });
  });
  it("anything else is ignored with one warning", () => {
    expect(said({ DISABLE_COMPACT: "maybe" })).toEqual([
      'environment DISABLE_COMPACT: expected 1, true, yes or on, or 0, false, no or off, found "maybe"; ignored',
    ]);
    expect(off({ DISABLE_COMPACT: "maybe" })).toEqual([]);
  });
  it("a switch that does not exist is said", () => {
    expect(said({ PALIMPSEST_FLAG_SNIPP: "1" })).toEqual([
      "environment PALIMPSEST_FLAG_SNIPP: is not a switch that palimpsest knows; ignored",
    ]);
  });
});

describe("the percentage", () => {
  it.each([
    ["80", 80],
    ["72.5", 72.5],
    ["100", 100],
    ["0.01", 0.01],
  ])("%j counts", (text, value) => {
    const { givenByName, problems } = environmentValues({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: text });
    expect(givenByName.get("compactPercent")?.value).toBe(value);
    expect(problems).toEqual([]);
  });
  it.each(["0", "-5", "100.1", "101", "80%", "eighty", "NaN", "Infinity", "1e1", "0x10", "8 0"])(
    "%j is ignored with a warning",
    (text) => {
      const { givenByName, problems } = environmentValues({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: text });
      expect(givenByName.size).toBe(0);
      expect(problems).toMatchObject([{ severity: "warning", where: "environment CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" }]);
    },
  );
});

it.each(["-1", "0", "999", "1.5", "200k", "1000000000"])("a window of %j is ignored with a warning", (text) => {
  const { givenByName, problems } = environmentValues({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: text });
  expect(givenByName.size).toBe(0);
  expect(problems).toHaveLength(1);
});

it("no two settings share a variable that gives a value, or a flag", () => {
  const variables = settingNames.flatMap((name) => settingTable[name].environment);
  expect(new Set(variables).size).toBe(variables.length);
  const flags = settingNames.flatMap((name) => settingTable[name].flag ?? []);
  expect(new Set(flags).size).toBe(flags.length);
});

describe("flags", () => {
  it("name switches with and without flags.", () => {
    const { givenByName } = flagValues([
      { flag: "off", text: "clear.size" },
      { flag: "on", text: "flags.snip" },
      { flag: "off", text: "autoCompactEnabled" },
    ]);
    expect([...givenByName].map(([name, { value }]) => [name, value])).toEqual([
      ["flags.clear.size", false],
      ["flags.snip", true],
      ["autoCompactEnabled", false],
    ]);
  });
  it.each([
    [{ flag: "off", text: "clear" }, "flag --off: there is no switch clear"],
    [{ flag: "on", text: "model" }, "flag --on: there is no switch model"],
    [
      { flag: "context-tokens", text: "lots" },
      'flag --context-tokens: expected a whole number of tokens from 1,000 to 100,000,000, found "lots"; refused',
    ],
  ])("%j is an error", (flag, text) => {
    expect(flagValues([flag]).problems.map((problem) => `${problem.severity} ${formatProblem(problem)}`)).toEqual([
      `error ${text}`,
    ]);
  });
});

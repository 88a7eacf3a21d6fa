import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, writeFile, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SettingName, settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import { scopeFiles } from "./scope-files.ts";
import { readSettings, environmentValues } from "./read-settings.ts";
import { flagValues } from "./flag-values.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";

/** Two values of each setting that are not its default; a switch has only two in all. */
function samples(name: SettingName): readonly [unknown, unknown] {
  const { type } = settingTable[name];
  if (type === "switch") return [true, false];
  if (name === "model" || name === "summaryModel") return ["claude-a", "claude-b"];
  if (name === "models") return [[model("claude-haiku-4-5", 11_000)], [model("claude-haiku-4-5", 12_000)]];
  if (name === "systemPrompts") return [[{ id: "qwen-", family: "gpt" }], [{ id: "qwen-", text: "Be brief." }]];
  if (name === "toolLimits") return [[toolLimit("bash", 11_000)], [toolLimit("bash", 12_000)]];
  if (name === "durability") return ["always", "never"];
  if (name === "secrets") return ["redact", "keep"];
  if (name === "memoryRecall") return ["local", "off"];
  if (name === "policy") return ["opencode", "none"];
  if (name === "saving") return ["careful", "thrifty"];
  if (name === "askAboveDollars" || name === "agentDollarsMax") return [0.5, 2];
  return name === "compactPercent" ? [50, 72.5] : [11_000, 12_000];
}
const model = (id: string, windowTokens: number) => ({ id, windowTokens });
const toolLimit = (id: string, resultCharsMax: number) => ({ id, resultCharsMax });

const scopes = ["user", "project", "local", "environment", "flag"] as const;
type AnyScope = (typeof scopes)[number];

async function place(): Promise<{ home: string; root: string }> {
  const folder = await mkdtemp(join(tmpdir(), "settings-"));
  return { home: join(folder, "home"), root: join(folder, "root") };
}

const asFile = (name: SettingName, value: unknown): object =>
  name.startsWith("flags.") ? { flags: { [name.slice("flags.".length)]: value } } : { [name]: value };

async function write(path: string, settings: object): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(settings));
}

function available(name: SettingName): readonly AnyScope[] {
  const { environment, flag, type } = settingTable[name];
  return scopes.filter(
    (scope) =>
      (scope !== "environment" || environment.length > 0) &&
      (scope !== "flag" || flag !== undefined || type === "switch"),
  );
}

/** In a project that is trusted; what others may say is in scope-files.test.ts. */
async function readWith(name: SettingName, said: ReadonlyMap<AnyScope, unknown>) {
  const where = await place();
  const trust = { trustedProjects: [where.root] };
  if (said.size > 0) await write(join(where.home, "settings.json"), trust);
  const env: Record<string, string> = {};
  const flags: { flag: string; text: string }[] = [];
  for (const [scope, value] of said) {
    if (scope === "environment") env[settingTable[name].environment[0] ?? ""] = String(value);
    else if (scope === "flag") {
      const { flag } = settingTable[name];
      flags.push(
        flag === undefined
          ? { flag: value === true ? "on" : "off", text: name.replace("flags.", "") }
          : { flag, text: String(value) },
      );
    } else {
      const path = scopeFiles(where).find((file) => file.scope === scope)?.path ?? "";
      await write(path, { ...asFile(name, value), ...(scope === "user" ? trust : {}) });
    }
  }
  return { where, reading: await readSettings({ ...where, env, flags }) };
}

function sourceOf(name: SettingName, scope: AnyScope, value: unknown): string {
  if (scope === "environment") return `environment ${settingTable[name].environment[0]}`;
  if (scope !== "flag") return scope;
  return `flag --${settingTable[name].flag ?? (value === true ? "on" : "off")}`;
}

describe("precedence", () => {
  it("of clearableTools those of every scope count", async () => {
    const said = new Map<AnyScope, unknown>([
      ["user", ["mcp__a"]],
      ["project", ["mcp__b"]],
    ]);
    const { reading } = await readWith("clearableTools", said);
    expect(reading.problems).toEqual([]);
    expect(reading.settings.clearableTools.value).toEqual(["mcp__a", "mcp__b"]);
  });

  // Of some lists all scopes count (hooks.test.ts), and a project may not allow, trust, run (narrowing-only.test.ts),
  // weaken the sandbox or say what is the user's own (scope-files.test.ts).
  const isOpen = (name: SettingName): boolean =>
    name !== "statusLine" &&
    name !== "sandbox" &&
    !name.startsWith("permissions.") &&
    settingTable[name].byProject !== "yours";
  it.each(settingNames.filter((name) => settingTable[name].addsUp !== "all" && isOpen(name)))(
    "%s: every scope gives it a value, and of two the stronger counts",
    async (name) => {
      const [one, other] = samples(name);
      for (const [at, weaker] of available(name).entries()) {
        const alone = await readWith(name, new Map([[weaker, one]]));
        expect(alone.reading.problems).toEqual([]);
        expect(alone.reading.settings[name]).toMatchObject({ value: one, source: sourceOf(name, weaker, one) });
        for (const stronger of available(name).slice(at + 1)) {
          for (const [low, high] of [samples(name), [other, one] as const]) {
            const { reading } = await readWith(
              name,
              new Map([
                [weaker, low],
                [stronger, high],
              ]),
            );
            expect(reading.settings[name], `${weaker} < ${stronger}`).toMatchObject({
              value: high,
              source: sourceOf(name, stronger, high),
            });
          }
        }
      }
    },
  );

  it("without anything every setting has its default", async () => {
    const { reading } = await readWith("model", new Map());
    for (const name of settingNames)
      expect(reading.settings[name]).toEqual({
        value: settingTable[name].default,
        source: "default",
        from: "built in",
      });
    expect(reading.files.map(({ state }) => state)).toEqual(["missing", "missing", "missing"]);
  });

  it("says the path, the variable or the flag that a value comes from", async () => {
    const { where, reading } = await readWith("contextTokens", new Map([["project", 9_000]]));
    expect(reading.settings.contextTokens.from).toBe(join(where.root, ".palimpsest", "settings.json"));
    expect((await readWith("policy", new Map([["flag", "none"]]))).reading.settings.policy.from).toBe("--policy");
    expect((await readWith("policy", new Map([["environment", "none"]]))).reading.settings.policy.from).toBe(
      "PALIMPSEST_POLICY",
    );
  });

  it("models of several scopes add up, by id", async () => {
    const { reading } = await readWith(
      "models",
      new Map([
        ["user", [model("claude-haiku-4-5", 1_000), model("claude-opus-5", 2_000)]],
        ["local", [model("claude-haiku-4-5", 3_000)]],
      ]),
    );
    expect(reading.settings.models.value).toEqual([model("claude-haiku-4-5", 3_000), model("claude-opus-5", 2_000)]);
    expect(reading.settings.models.source).toBe("local");
    expect(reading.settings.models.from).toMatch(/settings\.local\.json and .*home\/settings\.json$/);
  });

  it("limits of tools add up, and one out of range is said and left out", async () => {
    const limits = new Map([
      ["user", [toolLimit("bash", 30_000), toolLimit("grep", 20_000)]],
      ["local", [toolLimit("bash", 40_000), toolLimit("glob", 1_999)]],
    ] as const);
    const { reading } = await readWith("toolLimits", limits);
    expect(reading.settings.toolLimits.value).toEqual([toolLimit("bash", 40_000), toolLimit("grep", 20_000)]);
    expect(reading.problems.map(({ key }) => key)).toEqual(["toolLimits[1].resultCharsMax"]);
  });

  it("a user's settings file counts once where the home folder is the project", () => {
    const files = scopeFiles({ home: "/home/me/.palimpsest", root: "/home/me" });
    expect(files.map(({ scope }) => scope)).toEqual(["user", "local"]);
  });

  it("also where one of them is reached by a link", async () => {
    const { root } = await place();
    await mkdir(join(root, ".palimpsest"), { recursive: true });
    await symlink(root, `${root}-link`);
    const files = scopeFiles({ home: join(`${root}-link`, ".palimpsest"), root });
    expect(files.map(({ scope }) => scope)).toEqual(["user", "local"]);
  });

  it("deny rules that are listed twice are an error: those of the first list are lost", async () => {
    const { home, root } = await place();
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "settings.json"), '{"permissions":{"deny":["Bash"],"deny":[]},"model":"a","model":"b"}');
    const { problems } = await readSettings({ home, root, env: {} });
    expect(problems.map(({ severity, key }) => [severity, key])).toEqual([
      ["error", "permissions.deny"],
      ["warning", "model"],
    ]);
  });
});

it("rules under a key's whole name and in its object add up: no deny rule is lost", async () => {
  const { home, root } = await place();
  await mkdir(home, { recursive: true });
  const nested = { deny: ["Read(x)"], defaultMode: "plan" };
  for (const said of [
    { "permissions.deny": ["Bash(rm:*)"], "permissions.defaultMode": "default", permissions: nested },
    { permissions: nested, "permissions.defaultMode": "default", "permissions.deny": ["Bash(rm:*)"] },
  ]) {
    await writeFile(join(home, "settings.json"), JSON.stringify(said));
    const { problems, settings } = await readSettings({ home, root, env: {} });
    expect(settings["permissions.deny"].value.toSorted()).toEqual(["Bash(rm:*)", "Read(x)"]);
    expect(problems.map(({ severity, key, what }) => [severity, key, what])).toEqual([
      ["warning", "permissions.defaultMode", "appears twice; the last one counts"],
    ]);
  }
});

describe("files that are wrong", () => {
  async function problemsOf(content: string | Uint8Array) {
    const where = await place();
    const path = join(where.home, "settings.json");
    await mkdir(where.home, { recursive: true });
    await writeFile(path, content);
    const { problems, settings, files, reservedByScope } = await readSettings({ ...where, env: {} });
    const texts = problems.map(({ severity, where, key, what }) => {
      expect(where).toBe(path);
      return `${severity} ${key}: ${what}`;
    });
    return { texts, settings, files, reservedByScope };
  }

  it("one bad key never discards the rest", async () => {
    const { texts, settings } = await problemsOf(
      '{"contextTokens": "many", "model": "m", "flags": {"snip": true, "offload": "no", "nope": 1}, "policy": "best", "durability": 3}',
    );
    expect(texts).toEqual([
      'error contextTokens: expected a whole number of tokens from 1,000 to 100,000,000, found "many"; ignored',
      'error flags.offload: expected true or false, found "no"; ignored',
      expect.stringMatching(/^error policy: expected one of palimpsest, .*, api, found "best"; ignored$/),
      "error durability: expected always, turn or never, found 3; ignored",
      "warning flags.nope: is not a setting that palimpsest knows; ignored",
    ]);
    expect(settings.model.value).toBe("m");
    expect(settings["flags.snip"].value).toBe(true);
    expect(settings["flags.offload"]).toMatchObject({ value: true, source: "default" });
    expect(settings.contextTokens.value).toBeUndefined();
  });

  it.each([
    ["{", "error : is not JSON (line 1, column 2); the whole file is ignored"],
    ['{"model": ', "error : is not JSON (it ends too early); the whole file is ignored"],
    ['{"model": "m",\n}', "error : is not JSON (line 2, column 1); the whole file is ignored"],
    ['{\n "model": oops\n}', "error : is not JSON (line 2, column 11); the whole file is ignored"],
    ["", "error : is empty; expected an object of settings, like {}"],
    ["[]", "error : expected an object of settings, found a list; ignored"],
    ["null", "error : expected an object of settings, found null; ignored"],
    ['{"flags": true}', 'error flags: expected an object of switches, like {"snip": true}, found true; ignored'],
    ['{"model": {"apiKey": "secret"}}', "error model: expected a model's name, found an object; ignored"],
    [
      '{"compactPercent": "x"}',
      'error compactPercent: expected a number over 0 and up to 100, fractions allowed, found "x"; ignored',
    ],
    [
      '{"compactPercent": 101}',
      "warning compactPercent: expected a number over 0 and up to 100, fractions allowed, found 101; ignored",
    ],
    ['{"model": "a", "flags": {}, "model": "b"}', "warning model: appears twice; the last one counts"],
    ['{"flags": {"snip": true, "sn\\u0069p": false}}', "warning flags.snip: appears twice; the last one counts"],
    ['{"__proto__": {"model": "x"}}', "warning __proto__: is not a setting that palimpsest knows; ignored"],
  ])("%j is said", async (content, text) => {
    expect((await problemsOf(content)).texts).toEqual([text]);
  });

  it("a file of which nothing counts is not told as read", async () => {
    for (const content of ["[]", "null", "7"]) expect((await problemsOf(content)).files[0]?.state).toBe("broken");
    expect((await problemsOf("{}")).files[0]?.state).toBe("read");
  });

  it("what stands in a text or in several objects is not doubled", async () => {
    const kept = '"env": {"a": {"x": 1, "y": "{\\"x\\": \\"x\\"}"}, "b": [{"x": 1}, {"x": 2}]}';
    expect((await problemsOf(`{${kept}, "model": "env"}`)).texts).toEqual([]);
  });

  it.skipIf(process.platform === "win32")("a link that leads nowhere is said", async () => {
    const where = await place();
    await mkdir(where.home, { recursive: true });
    await symlink(join(where.home, "gone.json"), join(where.home, "settings.json"));
    const { problems, files } = await readSettings({ ...where, env: {} });
    expect(problems.map(({ what }) => what)).toEqual(["is a link that leads nowhere; ignored"]);
    expect(files[0]?.state).toBe("broken");
  });

  it.skipIf(process.platform === "win32").each([
    ["a pipe that nobody writes into", (path: string) => execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', path])],
    ["a device that never ends", (path: string) => symlinkSync("/dev/zero", path)],
    ["a folder", (path: string) => mkdirSync(path)],
  ])("%s is said, and not waited for", async (_, make) => {
    const where = await place();
    await mkdir(where.home, { recursive: true });
    make(join(where.home, "settings.json"));
    const { problems, files } = await readSettings({ ...where, env: {} });
    expect(problems.map(({ what }) => what)).toEqual(["is a folder, a pipe or a device, not a file; ignored"]);
    expect(files[0]?.state).toBe("broken");
  });

  it("does not quote a file that is not JSON", async () => {
    expect((await problemsOf('{"env": {"KEY": sk-secret}}')).texts.join()).not.toContain("secret");
  });

  it("a file that is too large is left alone", async () => {
    const { texts, files } = await problemsOf(" ".repeat(1_000_001));
    expect(texts).toEqual(["error : is larger than 1,000,000 bytes; ignored"]);
    expect(files[0]?.state).toBe("broken");
  });

  it("a byte order mark is no damage, and the ecosystem's keys are kept without a word", async () => {
    const statusLine = { type: "command", command: "true" };
    const { texts, settings, reservedByScope } = await problemsOf(
      `\uFEFF${JSON.stringify({ statusLine, $schema: "x", permissions: {}, env: { A: "1" }, model: "m" })}`,
    );
    expect(texts).toEqual([]);
    expect(settings.model.value).toBe("m");
    expect(reservedByScope.get("user")).toEqual({ $schema: "x", env: { A: "1" } });
    expect(settings.statusLine.value).toBe("true");
  });

  it("models: a bad one is left out, an unknown key in one is only said", async () => {
    const { texts, settings } = await problemsOf(
      JSON.stringify({
        models: [
          { id: "claude-opus-5", windowTokens: 1.5 },
          { id: "claude-sonnet-5", windowTokens: 50_000, colour: "red" },
          7,
          { windowTokens: 5 },
          { id: "claude-haiku-4-5", thinking: "deep", prices: { input: -1 } },
          { id: "my-model", windowTokens: 8_000 },
        ],
      }),
    );
    expect(texts).toEqual([
      "error models[0].windowTokens: expected a whole number, found 1.5; ignored",
      "error models[2]: expected an object, found 7; ignored",
      "error models[3].id: expected a string, found nothing; ignored",
      "error models[4].prices.input: expected a number from 0, found -1; ignored",
      "error models[4].prices.cacheWrite5m: expected a number, found nothing; ignored",
      "error models[4].prices.cacheWrite1h: expected a number, found nothing; ignored",
      "error models[4].prices.cacheRead: expected a number, found nothing; ignored",
      "error models[4].prices.output: expected a number, found nothing; ignored",
      'error models[4].thinking: expected one of free, bound, found "deep"; ignored',
      "warning models[1].colour: is not a setting that palimpsest knows; ignored",
    ]);
    expect(settings.models.value.map(({ id }) => id)).toEqual(["claude-sonnet-5", "my-model"]);
  });
});

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

import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { openSession } from "../../packages/palimpsest/src/session/session.ts";
import { sessionId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { settingDrafts, type SettingsUpdate } from "../../packages/cli/src/settings/watch-settings.ts";
import { parseNamedLimit } from "../../packages/palimpsest/src/tokens/resolve-window.ts";
import { computePressure } from "../../packages/palimpsest/src/tokens/thresholds.ts";
import { json, newWorld, rawLog, said, type World } from "./support/cli-world.ts";

interface Explained {
  readonly window: { tokens: number; source: string; from: string };
  readonly outputTokensMax: { tokens: number; source: string; from: string };
  readonly inputTokensMax: { tokens: number; source: string; from: string } | null;
  readonly thresholds: Record<string, { tokens: number; from: string }>;
  readonly settings: { name: string; value: unknown; default: unknown; source: string; from: string; basis: string }[];
  readonly switches: Record<string, { on: boolean; source: string; from: string }>;
  readonly policy: { name: string; rows: { name: string; value: string; basis: string }[] };
  readonly problems: { severity: string; text: string }[];
}

let world: World;
let root: string;
beforeEach(async () => {
  world = await newWorld();
  root = await realpath(await mkdtemp(join(tmpdir(), "root-")));
});

async function explain(env: Record<string, string>, ...args: readonly string[]): Promise<Explained> {
  const said = await world.callWith({ cwd: root, env }, "explain", "--json", ...args);
  expect(said.code, said.err).toBe(0);
  return JSON.parse(said.out) as Explained;
}

async function put(path: string, settings: object | string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof settings === "string" ? settings : JSON.stringify(settings));
  return path;
}
/** In which the project is trusted: its settings count as the user's own do. */
const user = (settings: object): Promise<string> =>
  put(join(world.home, "settings.json"), { trustedProjects: [root], ...settings });
const project = (settings: object | string): Promise<string> =>
  put(join(root, ".palimpsest", "settings.json"), settings);
const local = (settings: object): Promise<string> => put(join(root, ".palimpsest", "settings.local.json"), settings);

describe("9. Window and trigger", () => {
  it("a preset brings its own thresholds and layers; explain shows each of its numbers and what it rests on", async () => {
    const byDefault = await explain({});
    expect(byDefault.policy.name).toBe("palimpsest");
    const opencode = await explain({}, "--policy", "opencode");
    expect(opencode.window).toEqual(byDefault.window);
    expect(opencode.thresholds).toMatchObject({
      compact: { tokens: 168_000 },
      blocking: { tokens: null, from: "none" },
    });
    expect(opencode.switches["offload"]).toEqual({ on: false, source: "default", from: "the policy opencode" });
    expect((await explain({}, "--policy", "opencode", "--on", "notes")).switches["notes"]?.on).toBe(true);
    const basisIn = ({ policy }: Explained, name: string) => policy.rows.find((row) => row.name === name)?.basis;
    const later = await explain({}, "--policy", "claude-code-2026");
    expect(basisIn(later, "offload over")).toBe("elsewhere");
    expect(basisIn(later, "restored files")).toBe("published");
    expect(basisIn(byDefault, "clear on a warm cache")).toBe("ours");
    const { out } = await world.callWith({ cwd: root }, "explain", "--policy", "claude-code-2.1");
    expect(out).toMatch(/^Policy claude-code-2\.1$/m);
    expect(out).toMatch(/^ +clear down to +40,000 tokens$/m);
    expect(out).toMatch(/^ +policy .*claude-code-2\.1.* flag --policy$/m);
    expect(out).not.toContain("(switched");
    const switched = ["--on", "notes", "--off", "compact.background", "--off", "clear.size"];
    const { out: told } = await world.callWith({ cwd: root }, "explain", ...switched);
    expect(told).toMatch(/^ +clear by price \+ +when it pays \(switched off: clear\.size\)$/m);
    expect(told).toMatch(/^ +notes +off \(switched on: notes\)$/m);
    expect(told).toMatch(/^ +summary prepared ahead \+ +on \(switched off: compact\.background\)$/m);
    expect(told.match(/\(switched/g)).toHaveLength(3);
  });

  it("the simulator answers as the model that is in use otherwise: explain and context reckon with the same one as the agent", async () => {
    const agent = await world.callWith({ cwd: root }, "-p", "Hi", "--model", "simulator", "--output-format", "json");
    const { model } = json<{ model: string }>(agent);
    const explained = await explain({}, "--model", "simulator");
    expect(explained).toMatchObject({ model, window: { tokens: 1_000_000, source: "registry" } });
    const raw = rawLog();
    raw.add(said.user("Go."));
    const file = world.file("simulated.jsonl", raw.entries);
    for (const command of ["context", "view"])
      expect(json(await world.call(command, file, "--json", "--model", "simulator"))).toMatchObject({ window: 1e6 });
    await user({ model: "claude-haiku-4-5" });
    expect(await explain({}, "--model", "simulator")).toMatchObject({ model: "claude-haiku-4-5" });
  });

  it("context and view reckon with the thresholds of the policy", async () => {
    const raw = rawLog();
    raw.add(said.user("Go."));
    const file = world.file("by-policy.jsonl", raw.entries);
    const at = async (policy: string): Promise<unknown> =>
      json<{ thresholds: { compact: number } }>(await world.call("context", file, "--json", "--policy", policy))
        .thresholds.compact;
    expect([await at("palimpsest"), await at("claude-code-2.0"), await at("claude-code-2.1")]).toEqual([
      167_000, 187_000, 155_000,
    ]);
    expect((await world.call("view", file, "--policy", "opencode")).code).toBe(0);
  });

  it("a window that nobody knows holds what the log shows was in use, and the headline says that it is a guess", async () => {
    const raw = rawLog();
    raw.add(said.user("Go."));
    const usage = { input_tokens: 534_000, output_tokens: 859 };
    raw.add({
      ...said.text("m", "Done."),
      message: { id: "m", model: "some-model", content: [{ type: "text", text: "Done." }], usage },
    });
    const file = world.file("large.jsonl", raw.entries);
    const report = json<object>(await world.call("context", file, "--json"));
    expect(report).toMatchObject({ window: 1_000_000, windowSource: "recorded", pressure: { blocking: false } });
    const { out } = await world.call("context", file);
    expect(out).toContain("(window assumed: the log has a context of 534,859; --context-tokens sets it)");
    expect(out).not.toContain("no request fits");
    expect(json<object>(await world.call("context", file, "--json", "--model", "another"))).toMatchObject({
      window: 200_000,
      windowSource: "fallback",
    });
  });

  it("precedence of flag, environment, local, project, user, suffix, registry, fallback; explain names each source", async () => {
    const opus = ["--model", "claude-opus-4-5"];
    expect((await explain({})).window).toEqual({ tokens: 200_000, source: "fallback", from: "no model is set" });
    expect((await explain({}, "--model", "claude-opus-5")).window).toMatchObject({
      tokens: 1_000_000,
      source: "registry",
    });
    expect((await explain({}, "--model", "claude-opus-4-5[1m]")).window).toMatchObject({
      tokens: 1_000_000,
      source: "model-suffix",
    });
    for (const [write, count] of [
      [user, 150_000],
      [project, 140_000],
      [local, 130_000],
    ] as const) {
      const from = await write({ contextTokens: count });
      expect((await explain({}, ...opus)).window).toEqual({ tokens: count, source: "setting", from });
    }
    const env = { CLAUDE_CODE_MAX_CONTEXT_TOKENS: "120000" };
    expect((await explain(env, ...opus)).window).toEqual({
      tokens: 120_000,
      source: "environment",
      from: "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
    });
    expect((await explain(env, ...opus, "--context-tokens", "110000")).window).toEqual({
      tokens: 110_000,
      source: "flag",
      from: "--context-tokens",
    });
  });

  it('"maximum is N" in an error teaches N, once, and it is remembered by the next process', async () => {
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home }, cwd: root });
    const message = "prompt is too long: 208310 tokens > 160000 maximum";
    const learned = parseNamedLimit(message);
    expect(learned).toEqual({ of: "window", tokens: 160_000 });
    const lesson = { model: "claude-opus-5", ...(learned ?? { of: "input", tokens: tokens(0) }), from: message };
    expect(await workspace.learnWindow(lesson)).toEqual({ kind: "learned" });
    expect(await workspace.learnWindow(lesson)).toEqual({ kind: "known", tokens: 160_000 });
    const path = join(world.home, "learned-windows.json");
    expect((await explain({}, "--model", "claude-opus-5")).window).toEqual({
      tokens: 160_000,
      source: "learned",
      from: path,
    });
    expect(await readFile(path, "utf8")).toContain(message);
    await rm(path);
    expect((await explain({}, "--model", "claude-opus-5")).window.source).toBe("registry");
  });

  it("the most that a model takes bounds its thresholds; an error that names it leaves the window as it is", async () => {
    const gpt = ["--model", "gpt-5"];
    const sizes = async () => {
      const { window, inputTokensMax, thresholds } = await explain({}, ...gpt);
      const { effective, compact, blocking } = thresholds;
      return [window, inputTokensMax, effective?.tokens, compact?.tokens, blocking?.tokens];
    };
    const from = "the registry's gpt-5";
    const window = { tokens: 400_000, source: "registry", from };
    const known = { tokens: 272_000, source: "registry", from };
    expect(await sizes()).toEqual([window, known, 272_000, 259_000, 269_000]);
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home }, cwd: root });
    const path = join(world.home, "learned-windows.json");
    const learn = (message: string) =>
      workspace.learnWindow({ model: "gpt-5", ...(parseNamedLimit(message) ?? expect.fail(message)), from: message });
    const same = "Input tokens exceed the configured limit of 272000 tokens.";
    await learn(same);
    expect(await sizes()).toEqual([window, known, 272_000, 259_000, 269_000]);
    await learn("Input tokens exceed the configured limit of 250000 tokens.");
    expect(await sizes()).toEqual([
      window,
      { tokens: 250_000, source: "learned", from: path },
      250_000,
      237_000,
      247_000,
    ]);
    // As it was written before limits of what is sent had a place of their own.
    await put(path, {
      windows: { "gpt-5": { tokens: 260_000, from: same.replace("272", "260"), learned: "2026-11-01" } },
    });
    expect((await sizes()).slice(0, 2)).toEqual([window, { tokens: 260_000, source: "learned", from: path }]);
    const { out } = await world.callWith({ cwd: root }, "explain", ...gpt);
    expect(out).toMatch(/^ +input limit +260,000 +learned\b/m);
  });

  it("absolute and relative triggers", async () => {
    const at = async (env: Record<string, string>): Promise<unknown[]> => {
      const { compact, blocking } = (await explain(env)).thresholds;
      return [compact?.tokens, blocking?.tokens];
    };
    expect(await at({})).toEqual([167_000, 197_000]);
    expect(await at({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50.5" })).toEqual([90_900, 197_000]);
    expect(await at({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "100" })).toEqual([167_000, 197_000]);
    expect(await at({ CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE: "170000" })).toEqual([167_000, 170_000]);
    expect(await at({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: "10000" })).toEqual([177_000, 197_000]);
  });

  it("switched off, the trigger never fires, at any size", async () => {
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home, DISABLE_AUTO_COMPACT: "1" }, cwd: root });
    const { resolved } = await workspace.settings();
    for (const used of [0, 167_000, 180_000, 200_000, 10_000_000])
      expect(computePressure(tokens(used), resolved.thresholds, resolved.autoCompact).compact).toBe(false);
    const { switches } = await explain({ DISABLE_COMPACT: "true" });
    const on = Object.entries(switches).flatMap(([name, one]) => (one.on ? [name] : []));
    // None of these rewrites the view.
    expect(on).toEqual(["offload", "extraction", "dream", "agents", "progress"]);
    expect(switches["compact.manual"]).toEqual({
      on: false,
      source: "environment DISABLE_COMPACT",
      from: "DISABLE_COMPACT",
    });
  });

  it("a setting that changes while a session runs counts at once and is in its transcript", async () => {
    const news: SettingsUpdate[] = [];
    await user({});
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home }, cwd: root });
    const watch = await workspace.watchSettings([], (one) => news.push(one));
    const { deps } = world;
    const circumstances = { cwd: root, version: "0" };
    const opened = await openSession(deps, { id: sessionId("changing"), circumstances, mode: "create" });
    if (opened.kind !== "open") throw new Error(opened.kind);
    try {
      await project({ flags: { "clear.size": false } });
      await vi.waitFor(() => expect(news.flatMap(({ changes }) => changes)).toHaveLength(1), { timeout: 5_000 });
      await opened.session.append(...settingDrafts(news.flatMap(({ changes }) => changes)));
    } finally {
      watch.close();
      await opened.session.close();
    }
    expect(watch.current().settings["flags.clear.size"]).toMatchObject({ value: false, source: "project" });
    const [line] = world.log("changing").toString("utf8").trim().split("\n");
    expect(JSON.parse(line ?? "")).toMatchObject({
      type: "setting",
      name: "flags.clear.size",
      value: false,
      before: true,
    });
    expect(opened.session.view().path.problems).toEqual([]);
  });
});

describe("palimpsest explain", () => {
  it("shows every number with its arithmetic, within 80 columns, without colour and with it", async () => {
    await user({ model: "claude-sonnet-5-5", contextTokens: 8_000, compactPercent: 72.5 });
    const plain = await world.callWith({ cwd: root, env: { DISABLE_AUTO_COMPACT: "1" } }, "explain");
    expect({ code: plain.code, err: plain.err }).toEqual({ code: 0, err: "" });
    expect(plain.out).toMatch(/^ {2}effective +6,400 {2}8,000 − 1,600$/m);
    expect(plain.out).toMatch(/^ {2}compact +4,640/m);
    expect(plain.out).toContain("floor(6,400 × 72.5 / 100))");
    expect(plain.out).toMatch(/^ {2}compact\.auto +off +on +environment DISABLE_AUTO_COMPACT$/m);
    expect(plain.out).toMatch(/^ {2}model \+ +claude-sonnet-5-5 +none +user$/m);
    const paths = plain.out.split("\n").filter((line) => !line.includes("/settings."));
    for (const line of paths) expect(line.length, line).toBeLessThanOrEqual(80);
    const coloured = await world.callWith(
      { cwd: root, env: { DISABLE_AUTO_COMPACT: "1", FORCE_COLOR: "1" } },
      "explain",
    );
    expect(coloured.out).toContain("\u001B[");
    // oxlint-disable-next-line no-control-regex
    expect(coloured.out.replaceAll(/\u001B\[\d+m/g, "")).toBe(plain.out);
  });

  it("says whether the project is trusted, and what does not count because it is not", async () => {
    await project({ model: "claude-opus-5" });
    const said = await world.callWith({ cwd: root }, "explain", "--json");
    expect(json(said)).toMatchObject({ model: null, trust: "unasked" });
    expect(said.err).toMatch(
      /^warning: .*settings\.json: this project is not trusted, so these do not count: model \(.*\)\n$/,
    );
    const { out } = await world.callWith({ cwd: root }, "explain");
    expect(out).toMatch(/^ +project +read +.*settings\.json \(not trusted: it can only forbid\)$/m);
    await user({});
    expect(json(await world.callWith({ cwd: root }, "explain", "--json"))).toMatchObject({
      model: "claude-opus-5",
      trust: "trusted",
    });
  });

  it("says on stderr what is wrong in a file, goes on with the rest, and ends with 1", async () => {
    await user({});
    const path = await project({ contextTokens: "big", autoCompactEnabld: true, model: "claude-opus-5" });
    const said = await world.callWith({ cwd: root }, "explain", "--json");
    expect(said.code).toBe(1);
    expect(said.err).toBe(
      `error: ${path}: contextTokens: expected a whole number of tokens from 1,000 to 100,000,000, found "big"; ignored\n` +
        `warning: ${path}: autoCompactEnabld: is not a setting that palimpsest knows; ignored; did you mean autoCompactEnabled?\n`,
    );
    const explained = JSON.parse(said.out) as Explained;
    expect(explained.window).toMatchObject({ tokens: 1_000_000, source: "registry" });
    expect(explained.problems.map(({ severity }) => severity)).toEqual(["error", "warning"]);
  });

  it("ends with 0 where there are only warnings, and with 2 where a flag makes no sense", async () => {
    const warned = await world.callWith({ cwd: root, env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "0" } }, "explain");
    expect(warned.code).toBe(0);
    expect(warned.err).toMatch(
      /^warning: environment CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: expected .* found "0"; ignored\n$/,
    );
    const wrong = await world.callWith({ cwd: root }, "explain", "--off", "clear.sise");
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toContain("flag --off: there is no switch clear.sise; did you mean clear.size?");
  });

  it("writes nothing", async () => {
    const engineHome = join(root, "nobody");
    const said = await world.callWith({ cwd: root, home: engineHome }, "explain");
    expect(said.code).toBe(0);
    await expect(readFile(engineHome)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

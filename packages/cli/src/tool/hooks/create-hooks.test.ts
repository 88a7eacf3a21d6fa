import { execFile } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { HookCallbacks, HookEvent, HookPayload } from "palimpsest/internal/ports/hooks";
import { sessionId, toolUseId } from "palimpsest/internal/schema/brand";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import { parseJson } from "palimpsest/internal/schema/json";
import { createHooks } from "./create-hooks.ts";
import { hookTextCharsMax } from "./limits.ts";

interface Given {
  readonly hooks: readonly (Partial<HookSetting> & { readonly command: string })[];
  readonly callbacks?: readonly HookCallbacks[];
  readonly env?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const folderOf = (): Promise<string> => mkdtemp(join(tmpdir(), "hook-"));
const bash: HookPayload = { name: "PreToolUse", tool: "bash", input: { command: "ls" }, toolUse: toolUseId("t1") };
const prompt: HookPayload = { name: "UserPromptSubmit", prompt: "hello" };
const notification: HookPayload = { name: "Notification", type: "idle", message: "waiting" };

const at = (moment: HookPayload, cwd: string): HookEvent => ({
  session: sessionId("s1"),
  transcriptPath: "/logs/s1.jsonl",
  cwd,
  ...moment,
});

/** Fires one event; the cwd is a folder of its own. */
async function fire(moment: HookPayload, given: Given) {
  const folder = await folderOf();
  const settings = given.hooks.map((hook) => ({ event: moment.name, matcher: "", from: "settings.json", ...hook }));
  const hooks = createHooks({
    settings: () => settings,
    callbacks: given.callbacks ?? [],
    shell: "/bin/sh",
    env: { PATH: process.env["PATH"] ?? "", ...given.env },
    projectRoot: "/project",
  });
  const outcome = await hooks.fire(at(moment, folder), given.signal ?? new AbortController().signal);
  return { outcome, folder };
}

const said = async (moment: HookPayload, command: string) => (await fire(moment, { hooks: [{ command }] })).outcome;
const printing = (json: object): string => `printf '%s' '${JSON.stringify(json)}'`;
const silent = { context: [], messages: [], warnings: [] };

/** A process that appends to a file as long as it lives: an id may still be there when the process is not. */
async function hasEnded(heartbeat: string): Promise<boolean> {
  const before = await readFile(heartbeat, "utf8");
  await wait(400);
  return before !== "" && (await readFile(heartbeat, "utf8")) === before;
}

describe("what a command is given", () => {
  it("the event as JSON on its standard input, tools under the ecosystem's names", async () => {
    const { folder } = await fire(bash, { hooks: [{ command: "cat > got.json" }] });
    expect(parseJson(await readFile(join(folder, "got.json"), "utf8"))).toEqual({
      session_id: "s1",
      transcript_path: "/logs/s1.jsonl",
      cwd: folder,
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: { command: "ls" },
      tool_use_id: "t1",
    });
  });

  it("the environment without our keys, and where the project is", async () => {
    const env = { ANTHROPIC_API_KEY: "secret-a", OPENAI_API_KEY: "secret-b", GITHUB_TOKEN: "theirs", MY_OWN: "kept" };
    const { outcome } = await fire(prompt, { hooks: [{ command: "env" }], env });
    const seen = outcome.context.join();
    expect(seen).not.toContain("secret-");
    for (const part of ["MY_OWN=kept", "GITHUB_TOKEN=theirs", "CLAUDE_PROJECT_DIR=/project"])
      expect(seen).toContain(part);
  });

  it("need not read its input, however long that is", async () => {
    const long: HookPayload = { name: "UserPromptSubmit", prompt: "x".repeat(3_000_000) };
    expect(await said(long, "exit 0")).toEqual(silent);
  });

  it("a pipe that it closes does not end the program", async () => {
    // In a process of its own: the runner of the tests passes over broken pipes.
    const script = `
      import { runHookProcess } from ${JSON.stringify(new URL("hook-process.ts", import.meta.url).href)};
      const { signal } = new AbortController();
      const run = { shell: "/bin/sh", command: "exec 0<&-; sleep 0.2", input: "x".repeat(3_000_000) };
      const end = await runHookProcess({ ...run, cwd: "/", env: process.env, timeoutMs: 20_000, signal });
      process.stdout.write(end.kind);`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=@palimpsest/source",
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(stdout).toBe("exited");
  });
});

describe("what its end means", () => {
  it("exit code 2 blocks, with what it wrote to stderr", async () => {
    expect(await said(bash, "echo 'not on Fridays' >&2; echo ignored; exit 2")).toEqual({
      ...silent,
      blocked: { reason: "not on Fridays" },
    });
  });

  it("where there is nothing to block, it is a warning", async () => {
    const outcome = await said(notification, "echo no >&2; exit 2");
    expect(outcome.blocked).toBeUndefined();
    expect(outcome.warnings).toEqual([
      "the hook `echo no >&2; exit 2` of settings.json answered something that Notification can't use, because it can't be blocked: no",
    ]);
  });

  it.each([
    ["echo broken >&2; exit 1", /ended with exit code 1: broken$/],
    ["kill -9 $$", /was ended by SIGKILL$/],
    ["no-such-program-here", /ended with exit code 127: .*not found$/],
    ["printf '{\"continue\": '", /printed invalid JSON/],
    [printing({ continue: "no" }), /wrong value at continue; it is ignored$/],
    ["printf '{\"systemMessage\": \"'; head -c 3000000 /dev/zero | tr '\\0' x", /more than 1,048,576 bytes of JSON/],
    ["exit 0 \0", /could not be started/],
  ])("%j fails without blocking", async (command, warning) => {
    const { warnings, ...rest } = await said(bash, command);
    expect(rest).toEqual({ context: [], messages: [] });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it("a folder that is gone is a warning, not the end", async () => {
    const hooks = createHooks({
      settings: () => [{ event: "Stop", matcher: "", command: "true", from: "s" }],
      shell: "/bin/sh",
      env: {},
      projectRoot: "/project",
    });
    const gone = at({ name: "Stop", again: false }, "/no/such/folder");
    expect((await hooks.fire(gone, new AbortController().signal)).warnings).toEqual([
      expect.stringMatching(/could not be started/),
    ]);
  });
});

describe("what it prints", () => {
  it.each<[HookPayload, readonly string[]]>([
    [prompt, ["plain words"]],
    [{ name: "SessionStart", source: "startup" }, ["plain words"]],
    [{ name: "PreCompact", trigger: "auto", instructions: "" }, ["plain words"]],
    [bash, []],
    [{ name: "Stop", again: false }, []],
  ])("text without JSON is for the model only where the event says so: %j", async (moment, context) => {
    expect(await said(moment, "echo plain words")).toEqual({ ...silent, context });
  });

  it.each<[HookPayload, object, object]>([
    [bash, { decision: "block", reason: "r" }, { blocked: { reason: "r" } }],
    [bash, { decision: "approve" }, { permission: "allow" }],
    [bash, { continue: false, stopReason: "enough" }, { stopped: { reason: "enough" } }],
    [bash, { systemMessage: "look" }, { messages: ["look"] }],
    [bash, { hookSpecificOutput: { additionalContext: "c" } }, { context: ["c"] }],
    [bash, { hookSpecificOutput: { permissionDecision: "ask" } }, { permission: "ask" }],
    [
      bash,
      { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "r" } },
      { blocked: { reason: "r" } },
    ],
    [
      bash,
      { hookSpecificOutput: { permissionDecision: "allow", updatedInput: { command: "ls -l" } } },
      { permission: "allow", updatedInput: { command: "ls -l" } },
    ],
    [
      { name: "PermissionRequest", tool: "bash", input: {} },
      { hookSpecificOutput: { decision: { behavior: "deny", message: "r" } } },
      { blocked: { reason: "r" } },
    ],
    [bash, { somethingNew: 1 }, {}],
  ])("JSON: %j %j", async (moment, json, outcome) => {
    expect(await said(moment, printing(json))).toEqual({ ...silent, ...outcome });
  });

  it("a permission where nothing asks for one is a warning", async () => {
    const outcome = await said(prompt, printing({ hookSpecificOutput: { permissionDecision: "allow" } }));
    expect(outcome.permission).toBeUndefined();
    expect(outcome.warnings).toEqual([expect.stringMatching(/it decides about no call: allow$/)]);
  });

  it("huge output neither holds it up nor enters the conversation whole", async () => {
    const { context } = await said(prompt, "head -c 20000000 /dev/zero | tr '\\0' x");
    expect(context).toHaveLength(1);
    expect(context[0]).toMatch(/^x{10000}\n\[[\d,]+ more characters left out: a hook's text holds at most 10,000\]$/);
    expect(context[0]?.length).toBeLessThan(hookTextCharsMax + 100);
  });
});

describe("several hooks", () => {
  it("run at the same time, and their texts stand in the order of the settings", async () => {
    // Each waits for the other's file: one after the other, both would run into the limit.
    const meet = (mine: string, other: string) =>
      `touch ${mine}; until test -e ${other}; do sleep 0.02; done; echo ${mine}`;
    const { outcome } = await fire(prompt, {
      hooks: [
        { command: `${meet("a", "b")}; sleep 0.2`, timeoutSeconds: 10 },
        { command: meet("b", "a"), timeoutSeconds: 10 },
      ],
    });
    expect(outcome).toEqual({ ...silent, context: ["a", "b"] });
  });

  it("one that blocks is enough, and a permission beside it counts for nothing", async () => {
    const { outcome } = await fire(bash, {
      hooks: [
        { command: printing({ decision: "approve" }) },
        { command: "echo no >&2; exit 2" },
        { command: "exit 1" },
      ],
    });
    expect(outcome).toMatchObject({ blocked: { reason: "no" } });
    expect(outcome.permission).toBeUndefined();
    expect(outcome.warnings).toHaveLength(1);
  });

  it("to ask is stronger than to allow; of two inputs the last counts, with a warning", async () => {
    const changed = (permissionDecision: string, command: string) =>
      printing({ hookSpecificOutput: { permissionDecision, updatedInput: { command } } });
    const { outcome } = await fire(bash, {
      hooks: [{ command: changed("ask", "1") }, { command: changed("allow", "2") }],
    });
    expect(outcome).toMatchObject({ permission: "ask", updatedInput: { command: "2" } });
    expect(outcome.warnings).toEqual(["2 hooks changed the input of one call; the last one's counts"]);
  });

  it("the same command in several files runs once", async () => {
    const hooks = [
      { command: "echo x >> ran", from: "a" },
      { command: "echo x >> ran", from: "b" },
    ];
    const { folder } = await fire(prompt, { hooks });
    expect(await readFile(join(folder, "ran"), "utf8")).toBe("x\n");
  });

  it("only those of the event whose matcher fits run; of an event without kinds, all", async () => {
    const one = (matcher: string) => ({ matcher, command: printing({ systemMessage: matcher }) });
    const matched = async (moment: HookPayload) =>
      (await fire(moment, { hooks: ["", "Bash", "bash", "Ba.h$", "Edit|Write", "auto"].map(one) })).outcome.messages;
    expect(await matched(bash)).toEqual(["", "Bash", "bash", "Ba.h$"]);
    expect(await matched({ name: "PreCompact", trigger: "auto", instructions: "" })).toEqual(["", "auto"]);
    expect(await matched(prompt)).toHaveLength(6);
    const other = { command: printing({ systemMessage: "x" }), event: "Stop" as const };
    expect((await fire(bash, { hooks: [other] })).outcome).toEqual(silent);
  });
});

describe("a hook can't hang a session", () => {
  it("at its limit the whole group ends, also a child that ignores SIGTERM", async () => {
    const folder = await folderOf();
    const script = join(folder, "stubborn.sh");
    await writeFile(script, `trap '' TERM; while :; do echo x >> '${folder}/beat'; sleep 0.05; done`);
    const began = Date.now();
    const { outcome } = await fire(bash, { hooks: [{ command: `sh '${script}' & wait`, timeoutSeconds: 0.5 }] });
    expect(outcome.warnings).toEqual([expect.stringMatching(/did not end within its time limit and was ended$/)]);
    expect(outcome.blocked).toBeUndefined();
    expect(await hasEnded(join(folder, "beat"))).toBe(true);
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("SessionEnd has a limit of a second and a half", async () => {
    const began = Date.now();
    const { warnings } = await said({ name: "SessionEnd", reason: "other" }, "sleep 30");
    expect(warnings).toHaveLength(1);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_400);
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("a process that it leaves behind with its pipe open is not waited for", async () => {
    const began = Date.now();
    expect(await said(prompt, "sleep 20 & echo done")).toEqual({ ...silent, context: ["done"] });
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("an abort ends it, and what it could have forbidden does not happen", async () => {
    const aborting = new AbortController();
    const folder = await folderOf();
    const firing = fire(bash, {
      hooks: [{ command: `while :; do echo x >> '${folder}/beat'; sleep 0.05; done` }],
      signal: aborting.signal,
    });
    await wait(300);
    aborting.abort();
    expect((await firing).outcome).toEqual({
      ...silent,
      blocked: { reason: "interrupted before its hooks had ended" },
    });
    expect(await hasEnded(join(folder, "beat"))).toBe(true);
    const stop = await fire({ name: "Stop", again: false }, { hooks: [{ command: "true" }], signal: aborting.signal });
    expect(stop.outcome).toEqual(silent);
  });
});

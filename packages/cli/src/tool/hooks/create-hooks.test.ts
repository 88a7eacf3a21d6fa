import { execFile } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { HookCallbacks, HookEvent, HookPayload, HookEventOf } from "palimpsest/internal/ports/hooks";
import { sessionId, toolUseId, millis } from "palimpsest/internal/schema/brand";
import { type HookSetting, type HookAnswer, hookEventNames } from "palimpsest/internal/schema/hook";
import { parseJson } from "palimpsest/internal/schema/json";
import { createHooks, runCallback, toHookInput } from "./create-hooks.ts";
import { hookTextCharsMax } from "./limits.ts";

const place = { session: sessionId("s1"), transcriptPath: "/t.jsonl", cwd: "/app" };
const common = { session_id: "s1", transcript_path: "/t.jsonl", cwd: "/app" };
const toolUse = toolUseId("t1");

/** Scripts of other people read these names: none may change. */
const table: readonly (readonly [HookPayload, object])[] = [
  [
    { name: "SessionStart", source: "fork", model: "m" },
    { source: "fork", model: "m" },
  ],
  [{ name: "SessionEnd", reason: "prompt_input_exit" }, { reason: "prompt_input_exit" }],
  [{ name: "UserPromptSubmit", prompt: "p" }, { prompt: "p" }],
  [
    { name: "PreToolUse", tool: "todo", input: { a: 1 }, toolUse },
    { tool_name: "TodoWrite", tool_input: { a: 1 }, tool_use_id: "t1" },
  ],
  [
    { name: "PostToolUse", tool: "mcp__x__y", input: {}, toolUse, response: ["r"] },
    { tool_name: "mcp__x__y", tool_input: {}, tool_response: ["r"], tool_use_id: "t1" },
  ],
  [
    { name: "PermissionRequest", tool: "write", input: { file_path: "/x" } },
    { tool_name: "Write", tool_input: { file_path: "/x" } },
  ],
  [
    { name: "Notification", type: "idle_prompt", message: "m", title: "t" },
    { notification_type: "idle_prompt", message: "m", title: "t" },
  ],
  [
    { name: "Stop", again: true, lastText: "done" },
    { stop_hook_active: true, last_assistant_message: "done" },
  ],
  [
    { name: "SubagentStart", agentId: "a", agentType: "explore" },
    { agent_id: "a", agent_type: "explore" },
  ],
  [
    { name: "SubagentStop", agentId: "a", agentType: "explore", again: false, agentTranscriptPath: "/a.jsonl" },
    { agent_id: "a", agent_type: "explore", stop_hook_active: false, agent_transcript_path: "/a.jsonl" },
  ],
  [
    { name: "PreCompact", trigger: "manual", instructions: "keep x" },
    { trigger: "manual", custom_instructions: "keep x" },
  ],
  [
    { name: "PostCompact", trigger: "auto", summary: "s", receipt: { kept: 1 } },
    { trigger: "auto", compact_summary: "s", receipt: { kept: 1 } },
  ],
  [
    { name: "InstructionsLoaded", path: "/a.md", memoryType: "Project", reason: "include", parentPath: "/b.md" },
    { file_path: "/a.md", memory_type: "Project", load_reason: "include", parent_file_path: "/b.md" },
  ],
];

it.each(table)("%j", (moment, fields) => {
  expect(toHookInput({ ...place, ...moment })).toEqual({ ...common, hook_event_name: moment.name, ...fields });
});

it("no event is forgotten", () => {
  expect(new Set(table.map(([{ name }]) => name))).toEqual(new Set(hookEventNames));
});

it("the permission mode and the agent stand where there are any", () => {
  const event = { ...place, permissionMode: "plan", agent: { id: "a", type: "explore" } };
  expect(toHookInput({ ...event, name: "UserPromptSubmit", prompt: "p" })).toEqual({
    ...common,
    permission_mode: "plan",
    agent_id: "a",
    agent_type: "explore",
    hook_event_name: "UserPromptSubmit",
    prompt: "p",
  });
});

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

const event: HookEventOf<"PreToolUse"> = {
  session: sessionId("s1"),
  transcriptPath: "/logs/s1.jsonl",
  cwd: "/",
  name: "PreToolUse",
  tool: "bash",
  input: { command: "ls" },
  toolUse: toolUseId("t1"),
};
const never = new AbortController().signal;
const run = (callbacks: HookCallbacks, timeoutMs = 5_000) =>
  runCallback(callbacks, event, { timeoutMs: millis(timeoutMs), signal: never });

describe("a function for an event", () => {
  it("gets the event under our names and answers for itself", async () => {
    const hooks = createHooks({
      settings: () => [],
      callbacks: [{ PreToolUse: ({ tool, input }) => ({ block: `${tool} ${JSON.stringify(input)}` }) }, {}],
      shell: "/bin/sh",
      env: {},
      projectRoot: "/",
    });
    expect(await hooks.fire(event, never)).toEqual({
      blocked: { reason: 'bash {"command":"ls"}' },
      context: [],
      messages: [],
      warnings: [],
    });
  });

  it("that only listens says nothing", async () => {
    expect(await run({ PreToolUse: () => {} })).toEqual({ kind: "said", answer: {} });
  });

  it("of another event is not called", () => {
    expect(run({ Stop: () => ({ block: "x" }) })).toBeUndefined();
  });

  it.each<[string, NonNullable<HookCallbacks["PreToolUse"]>, string]>([
    [
      "throws",
      () => {
        throw new Error("oops");
      },
      "threw: oops",
    ],
    ["rejects", () => Promise.reject(new Error("later")), "threw: later"],
    ["answers nonsense", () => ({ block: 7 }) as unknown as HookAnswer, "returned something that is not a hook answer"],
  ])("that %s has failed", async (_, PreToolUse, why) => {
    expect(await run({ PreToolUse })).toEqual({ kind: "failed", why });
  });

  it("that never answers is told so by its signal and left behind", async () => {
    let told: AbortSignal | undefined;
    const PreToolUse: HookCallbacks["PreToolUse"] = (_, signal) => {
      told = signal;
      return new Promise<void>(() => {});
    };
    expect(await run({ PreToolUse }, 20)).toEqual({ kind: "failed", why: "did not answer within its time limit" });
    expect(told?.aborted).toBe(true);
  });

  it("is cut short by an abort", async () => {
    const aborting = new AbortController();
    const running = runCallback({ PreToolUse: () => new Promise<void>(() => {}) }, event, {
      timeoutMs: millis(60_000),
      signal: aborting.signal,
    });
    aborting.abort();
    expect(await running).toEqual({ kind: "aborted" });
  });
});

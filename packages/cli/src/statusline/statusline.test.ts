import { describe, expect, test, vi } from "vitest";
import { type Millis, nanoUsd, sessionId, tokens } from "palimpsest/internal/schema/brand";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import type { HookProcessEnd } from "../tool/hooks/hook-process.ts";
import {
  createStatuslineDeps,
  type StatuslineOutcome,
  readStatusline,
  styleLines,
  Statusline,
  type StatuslineDeps,
} from "./statusline.ts";
import { statuslineOnDemand } from "./statusline-on-demand.ts";
import type { Agent } from "../agent/agent.ts";
import type { TerminalUi } from "../chat/terminal-ui.ts";
import { statuslineLinesMax } from "../tui/limits.ts";
import { statuslineCharsMax, statuslineDebounceMs } from "./limits.ts";
import { type AgentFacts, statusJson } from "./chat-statusline.ts";

const facts: AgentFacts = {
  session: sessionId("s1"),
  transcriptPath: "/logs/s1.jsonl",
  cwd: "/p/src",
  projectRoot: "/p",
  model: "m",
  version: "0.1.0",
  policy: "palimpsest",
  windowTokens: tokens(200_000),
  usedTokens: tokens(50_000),
  usage: { input: tokens(1_000), cacheWrite: tokens(9_000), cacheRead: tokens(40_000), output: tokens(500) },
  inputTokens: tokens(70_000),
  outputTokens: tokens(900),
  costNanos: nanoUsd(250_000_000),
  hitRate: 0.8,
  durationMillis: 60_000,
  apiDurationMillis: 20_000,
  linesAdded: 12,
  linesRemoved: 3,
  percentLeft: 70,
  background: "memories",
};

describe("the JSON for a statusline command", () => {
  test("has the fields that scripts of the ecosystem read", () => {
    expect(statusJson(facts)).toEqual({
      hook_event_name: "Status",
      session_id: "s1",
      transcript_path: "/logs/s1.jsonl",
      cwd: "/p/src",
      model: { id: "m", display_name: "m" },
      workspace: { current_dir: "/p/src", project_dir: "/p" },
      version: "0.1.0",
      output_style: { name: "default" },
      cost: {
        total_cost_usd: 0.25,
        total_duration_ms: 60_000,
        total_api_duration_ms: 20_000,
        total_lines_added: 12,
        total_lines_removed: 3,
      },
      context_window: {
        total_input_tokens: 70_000,
        total_output_tokens: 900,
        context_window_size: 200_000,
        used_percentage: 25,
        remaining_percentage: 75,
        current_usage: {
          input_tokens: 1_000,
          output_tokens: 500,
          cache_creation_input_tokens: 9_000,
          cache_read_input_tokens: 40_000,
        },
      },
      exceeds_200k_tokens: false,
      palimpsest: {
        policy: "palimpsest",
        cache_hit_rate: 0.8,
        percent_left_until_compaction: 70,
        background: "memories",
      },
    });
  });

  test.each<[string, Partial<AgentFacts>, object]>([
    [
      "no usage before the first reply",
      { usage: undefined },
      { context_window: { used_percentage: 25, remaining_percentage: 75, current_usage: null } },
    ],
    [
      "no more than all of the window",
      { windowTokens: tokens(10_000) },
      { context_window: { used_percentage: 100, remaining_percentage: 0 } },
    ],
    ["nothing of an unknown window", { windowTokens: tokens(0) }, { context_window: { used_percentage: 0 } }],
    [
      "a context over 200,000",
      { usage: { input: tokens(0), cacheWrite: tokens(0), cacheRead: tokens(199_900), output: tokens(200) } },
      { exceeds_200k_tokens: true },
    ],
  ])("tells %s", (_, change, expected) => {
    expect(statusJson({ ...facts, ...change })).toMatchObject(expected);
  });
});

const exited = (code: number, text: string, complaint = ""): HookProcessEnd => ({
  kind: "exited",
  code,
  stdout: { text, extent: "whole" },
  stderr: { text: complaint, extent: "whole" },
});

describe("the line of a command", () => {
  test.each<[string, string, string]>([
    ["nothing", "", ""],
    [
      "with its colours, which end with it",
      "\u001B[32mok\u001B[0m x\u001B[1;38:5:9my",
      "\u001B[32mok\u001B[0m x\u001B[1;38:5:9my\u001B[0m",
    ],
    ["of colours alone counts as empty", "\u001B[32m\nx", "x"],
    ["cannot drive the terminal", "a\u001B[2Jb\u0007\u001B]0;t\u0007", String.raw`a\x1b[2Jb\x07\x1b]0;t\x07`],
    ["with a tab as a space", "a\tb", "a b"],
  ])("%s", (_, output, line) => {
    expect(styleLines(output)).toEqual(line === "" ? [] : [line]);
  });

  test("is cut at its limit", () => {
    expect(styleLines("x".repeat(statuslineCharsMax + 1))).toEqual(["x".repeat(statuslineCharsMax)]);
  });

  test("are few, and none is blank", () => {
    expect(styleLines("a\n\n b\nc\nd")).toEqual(["a", " b", "c"]);
    expect(statuslineLinesMax).toBe(3);
  });

  test.each<[HookProcessEnd, StatuslineOutcome | undefined]>([
    [exited(0, "x"), { kind: "lines", lines: ["x"] }],
    [exited(3, "x"), { kind: "failed", why: "ended with exit code 3" }],
    [
      exited(127, "", "\n\u001B[31msh: no jq\u001B[0m.\nmore"),
      { kind: "failed", why: "ended with exit code 127: sh: no jq" },
    ],
    [{ kind: "timed-out" }, { kind: "failed", why: "did not end within its time limit and was ended" }],
    [
      { kind: "killed", signal: "SIGKILL" },
      { kind: "failed", why: "was ended by SIGKILL" },
    ],
    [
      { kind: "not-started", why: "gone" },
      { kind: "failed", why: "could not be started: gone" },
    ],
    [{ kind: "aborted" }, undefined],
  ])("%j", (end, line) => {
    expect(readStatusline(end)).toEqual(line);
  });
});

/** Waits and runs end when the test says so. */
function held() {
  const waits: { ms: Millis; signal: AbortSignal; end: () => void }[] = [];
  const runs: { input: string; signal: AbortSignal; end: (end: HookProcessEnd) => void }[] = [];
  const deps: StatuslineDeps = {
    wait: (ms, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waits.push({ ms, signal, end: resolve });
      signal.addEventListener("abort", () => resolve());
      return promise;
    },
    run: (input, signal) => {
      const { promise, resolve } = Promise.withResolvers<HookProcessEnd>();
      runs.push({ input, signal, end: resolve });
      return promise;
    },
  };
  const lines: StatuslineOutcome[] = [];
  return { waits, runs, lines, statusline: new Statusline(deps, (line) => lines.push(line)) };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("running it", () => {
  test("waits until it is quiet, and runs once with the newest status", async () => {
    const { waits, runs, lines, statusline } = held();
    for (const n of [1, 2, 3]) statusline.update(() => ({ n }));
    expect(waits.map(({ ms }) => ms)).toEqual([statuslineDebounceMs, statuslineDebounceMs, statuslineDebounceMs]);
    for (const { end } of waits) end();
    await settled();
    expect(runs.map(({ input }) => input)).toEqual(['{"n":3}']);
    runs[0]?.end(exited(0, "three"));
    await settled();
    expect(lines).toEqual([{ kind: "lines", lines: ["three"] }]);
  });

  test("lets a run end, tells its line, and runs once more for all that came meanwhile", async () => {
    const { waits, runs, lines, statusline } = held();
    statusline.update(() => ({ n: 0 }));
    waits[0]?.end();
    await settled();
    for (const n of [1, 2, 3]) statusline.update(() => ({ n }));
    expect(runs[0]?.signal.aborted).toBe(false);
    runs[0]?.end(exited(0, "first"));
    await settled();
    expect(lines).toEqual([{ kind: "lines", lines: ["first"] }]);
    for (const { end } of waits) end();
    await settled();
    expect(runs.map(({ input }) => input)).toEqual(['{"n":0}', '{"n":3}']);
  });

  test("ends a run when it is closed, and tells nothing of it", async () => {
    const { waits, runs, lines, statusline } = held();
    statusline.update(() => ({}));
    waits[0]?.end();
    await settled();
    statusline.close();
    expect(runs[0]?.signal.aborted).toBe(true);
    runs[0]?.end(exited(0, "late"));
    await settled();
    expect(lines).toEqual([]);
  });

  test("does nothing once it is closed", async () => {
    const { waits, runs, statusline } = held();
    statusline.update(() => ({}));
    statusline.close();
    statusline.update(() => ({}));
    await settled();
    expect([waits.length, runs.length]).toEqual([1, 0]);
  });

  test("gives the command the status as its input", async () => {
    const cwd = await temporaryFolder();
    const { run } = createStatuslineDeps({
      command: "cat",
      shell: "/bin/sh",
      cwd,
      env: { PATH: process.env["PATH"] ?? "" },
    });
    const end = await run('{"model":"m"}', new AbortController().signal);
    expect(readStatusline(end)).toEqual({ kind: "lines", lines: ['{"model":"m"}'] });
  });

  test("waits no longer than until the abort", async () => {
    const { wait } = createStatuslineDeps({ command: "true", shell: "/bin/sh", cwd: "/", env: {} });
    await expect(wait(statuslineDebounceMs, AbortSignal.abort())).resolves.toBeUndefined();
  });
});

test("a statusline that can't be loaded is reported once, and nothing else fails", async () => {
  const shown: (readonly string[])[] = [];
  const find = vi.fn<Parameters<typeof statuslineOnDemand>[0]>().mockRejectedValue(new Error("no such module"));
  const line = statuslineOnDemand(find);
  line.behind({ setStatusline: (lines) => void shown.push(lines) } as TerminalUi);
  const agent = {} as Agent;
  line.changed(agent, undefined);
  line.changed(agent, undefined);
  await expect.poll(() => shown).toEqual([["The statusline could not be loaded."]]);
  line.changed(agent, undefined);
  expect(find).toHaveBeenCalledTimes(1);
});

import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { answering, call, commitAll, say, when, writeIn } from "./agents-world.ts";
import { runScript } from "./command-line.ts";
import { agentWorld, type AgentWorld } from "./whole-agent.ts";

interface Looked {
  readonly heapBytes: number;
  /** Sessions that are in memory. */
  readonly sessions: number;
  readonly files: number;
  readonly sockets: number;
  readonly children: number;
}

interface ManyAgents {
  readonly ends: Readonly<Record<string, number>>;
  readonly at: Readonly<Record<string, Looked>>;
  readonly listed: number;
  readonly closed: Looked;
}

/** A session in a process of its own starts and ends so many agents; nothing of them is left but their transcripts. */
export async function expectNothingLeft(count: number, marks: readonly number[]): Promise<ManyAgents> {
  const world = await agentWorld({
    responder: answering(
      when("COMMAND", call("bash", { command: "echo hello" })),
      when("READ", call("read", { path: "a.ts" })),
      when("tool_result", say("I have seen it.")),
    ),
  });
  // What a test sees of each request would be kept for nothing.
  world.seen.push = () => 0;
  await writeIn(world.work, "a.ts", "export const a = 1;\n");
  commitAll(world);
  const env = Object.fromEntries(
    Object.entries(world.env).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  );
  const calling = { home: world.home, cwd: world.work, env };
  const ran = await runScript<ManyAgents>(calling, "many-agents.ts", String(count), ...marks.map(String));
  expect(ran.ends).toEqual({ answered: count });
  expect(ran.listed).toBe(Math.min(count, 50));
  const looked = marks.map((mark) => ran.at[mark]);
  for (const one of looked) {
    expect(one?.files).toBe(looked[0]?.files);
    expect(one?.sockets).toBeLessThan(16);
    expect(one?.children).toBe(0);
    expect(one?.sessions).toBe(1);
  }
  expect(ran.closed.children).toBe(0);
  await expectClean(world, count);
  return ran;
}

/** No lock, no worktree and no branch; each agent's transcript once. */
export async function expectClean(world: AgentWorld, transcripts: number): Promise<void> {
  const files = await readdir(world.home, { recursive: true });
  expect(files.filter((name) => /\.lock$|\.sock$/.test(name))).toEqual([]);
  expect(files.filter((name) => /subagents\/agent-[\da-f]+\.jsonl$/.test(name))).toHaveLength(transcripts);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: world.work, encoding: "utf8" }).trim();
  expect(git("worktree", "list").split("\n")).toHaveLength(1);
  expect(git("branch", "--list", "palimpsest/*")).toBe("");
  expect(await readdir(join(world.work, ".git", "palimpsest-worktrees")).catch(() => [])).toEqual([]);
}

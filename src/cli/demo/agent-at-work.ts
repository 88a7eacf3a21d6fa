import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openAgent } from "../../agent/open-agent.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { Actor, Move } from "../../simulator/actor/actor.ts";

/** What happened, line by line, for people. */
export interface AtWork {
  readonly lines: readonly string[];
  readonly costUsd: number;
  /** Prompt tokens that came from the cache, 0 to 1. */
  readonly hitRate: number;
  readonly repaired: boolean;
}

const broken = "export const sum = (a, b) => a + b + 1;\n";
const check =
  'import { sum } from "./sum.mjs";\nif (sum(1, 2) !== 3) throw new Error(`sum(1, 2) is ${sum(1, 2)}`);\nconsole.log("ok");\n';

const call = (name: string, input: Record<string, string>) => ({ type: "tool_use", name, input }) as const;
const text = (words: string) => ({ type: "text", text: words }) as const;

/** A model with a script; the simulator around it counts, caches and charges like the real one. */
const moves: readonly Move[] = [
  {
    kind: "say",
    blocks: [
      text("Let me look at the code and its check."),
      call("read", { file_path: "sum.mjs" }),
      call("bash", { command: "node check.mjs" }),
    ],
  },
  {
    kind: "say",
    blocks: [
      text("One is added too many."),
      call("edit", { file_path: "sum.mjs", old_string: "a + b + 1", new_string: "a + b" }),
    ],
  },
  { kind: "say", blocks: [call("bash", { command: "node check.mjs" })] },
  { kind: "say", blocks: [text("Repaired: the check passes now.")] },
];

function scripted(): Actor {
  let at = 0;
  return { name: "demo", play: () => ({ move: moves[at++] ?? { kind: "say", blocks: [text("Done.")] } }) };
}

/** The real agent with its real tools on a small project, against a simulated model. */
export async function agentAtWork(folder: string): Promise<AtWork> {
  await mkdir(join(folder, "project"));
  const cwd = await realpath(join(folder, "project"));
  await writeFile(join(cwd, "sum.mjs"), broken);
  await writeFile(join(cwd, "check.mjs"), check);
  const agent = await openAgent({
    env: { PALIMPSEST_HOME: join(folder, "agent-home"), PATH: process.env["PATH"] },
    cwd,
    version: "demo",
    flags: [],
    session: { kind: "new" },
    model: { kind: "simulator", actor: scripted(), seed: 0 },
    tools: { mode: "acceptEdits", allow: ["Bash(node check.mjs)"], deny: [] },
  });
  if (agent.kind !== "agent") throw new Error(`the demo's agent is ${agent.kind}`);
  const lines: string[] = [];
  try {
    for await (const event of agent.turn("The check fails. Repair it.", new AbortController().signal))
      lines.push(...told(event).map((line) => line.replaceAll(`${cwd}/`, "")));
  } finally {
    await agent.close();
  }
  const { totalNanos, hitRate } = agent.conversation.costs.session;
  const repaired = !(await readFile(join(cwd, "sum.mjs"), "utf8")).includes("+ 1");
  return { lines, costUsd: totalNanos / 1e9, hitRate, repaired };
}

function told(event: LoopEvent): readonly string[] {
  switch (event.kind) {
    case "text-delta":
      return [];
    case "call-start":
      return [`${event.tool} ${Object.values(event.input).find((value) => typeof value === "string") ?? ""}`];
    case "call-end":
      return [`  ${event.outcome}: ${event.summary}`];
    default:
      return [];
  }
}

import { execFileSync } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { Tool } from "../../packages/palimpsest/src/ports/tool.ts";
import { millis, sessionId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { createReadFiles } from "../../packages/palimpsest/src/context/read-files.ts";
import { findSandbox } from "../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import { sessionSandbox } from "../../packages/cli/src/tool/sandbox/session-sandbox.ts";
import { temporaryFolder } from "../../packages/cli/src/tool/sandbox/temporary-folder.ts";
import { bashTool, findShell } from "../../packages/cli/src/tool/shell/bash-tool.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

const repeats = 60;
/** A delay that a user does not notice. */
const limitMillis = 15;

/** Plans and runs an empty command through the bash tool, alternating with and without the sandbox. */
export const sandboxCase: BenchCase = {
  name: "sandbox",
  run: async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "bench-sandbox-")));
    try {
      return await measured(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function measured(folder: string): Promise<readonly Figure[]> {
  const found = await findSandbox({ env: process.env, folder: join(folder, "own") });
  if (found.kind === "none") return [];
  const project = join(folder, "project");
  execFileSync("git", ["init", "-q", project]);
  const temporary = temporaryFolder(sessionId("bench"), folder);
  const places = { roots: [project], home: homedir(), env: process.env };
  const shell = await findShell();
  const rules = { allow: [], ask: [], deny: [] };
  const use = () => ({ kind: "held", sandbox: found.sandbox }) as const;
  const sandbox = sessionSandbox({ ...places, use, readRoots: [], guarded: [], rules: () => rules, temporary });
  const bare = bashTool({ ...places, shell, shellState: { cwd: undefined } });
  const held = bashTool({ ...places, shell, shellState: { cwd: undefined }, sandbox });
  return [
    await compared({ name: "read-only", command: "true", tools: { bare, held }, cwd: project }),
    await compared({ name: "workspace", command: "sh -c true", tools: { bare, held }, cwd: project }),
  ];
}

interface Comparison {
  readonly name: string;
  readonly command: string;
  readonly tools: { readonly bare: Tool; readonly held: Tool };
  readonly cwd: string;
}

async function compared({ name, command, tools, cwd }: Comparison): Promise<Figure> {
  const took = { bare: [] as number[], held: [] as number[] };
  for (let at = 0; at < repeats; at += 1) {
    for (const which of ["bare", "held"] as const) took[which].push(await runMillis(tools[which], { command, cwd }));
  }
  const [ours, peer] = [median(took.held), median(took.bare)];
  return {
    name: `\`${command}\` in the sandbox (${name}), more than without`,
    value: ours - peer,
    unit: "ms",
    limit: limitMillis,
    detail: `medians of ${repeats} in turn: ${ours.toFixed(1)} ms with, ${peer.toFixed(1)} ms without`,
  };
}

async function runMillis(tool: Tool, { command, cwd }: Pick<Comparison, "command" | "cwd">): Promise<number> {
  const context = { toolUse: toolUseId("toolu_bench"), cwd, files: createReadFiles(), now: millis(0) };
  const from = performance.now();
  const plan = await tool.plan({ command }, context);
  if (plan.kind !== "ready") throw new Error(plan.message);
  const { isError, content } = await plan.run(new AbortController().signal);
  if (isError === true) throw new Error(JSON.stringify(content));
  return performance.now() - from;
}

import { execFile } from "node:child_process";
import { cp, realpath } from "node:fs/promises";
import { join, delimiter, dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { openWorkspace, type ProjectStore } from "../host/workspace.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { findSandbox } from "../tool/sandbox/find-sandbox.ts";
import { longCommand, testCommand } from "./facts.ts";
import { unmanagedWindowTokens, windowTokens } from "./limits.ts";
import type { ScriptedModel } from "./scripted-model.ts";

interface DemoAgentOptions {
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly session: SessionChoice;
  /** `manual`: the layers are on, but compaction only happens on request. */
  readonly mode: "managed" | "manual" | "unmanaged";
}

/** The real agent with its real tools; only the model is simulated. */
export async function openDemoAgent({ place, model, session, mode }: DemoAgentOptions): Promise<Agent> {
  const { cwd, env } = place;
  const agent = await openAgent({
    cwd,
    env,
    version: readOwnVersion(),
    flags: [
      { flag: "context-tokens", text: String(mode === "unmanaged" ? unmanagedWindowTokens : windowTokens) },
      { flag: "policy", text: mode === "unmanaged" ? "none" : "palimpsest" },
      { flag: mode === "managed" ? "on" : "off", text: "compact.auto" },
      // Notes keep 10,000 tokens verbatim: in so small a window they would free nothing and only cost money.
      { flag: "off", text: "notes" },
    ],
    session,
    model: { kind: "simulator", responder: model.responder, seed: 0 },
    tools: { mode: "acceptEdits", allow: [`Bash(${testCommand})`, `Bash(${longCommand})`], deny: [] },
    sandbox: await findSandbox({ env, folder: join(place.home, "sandbox") }),
    planReview: { review: () => Promise.resolve({ kind: "accepted", mode: "acceptEdits" }) },
  });
  if (agent.kind !== "agent") throw new Error(`the demo's agent is ${agent.kind}`);
  return agent;
}

/** Where one session of the demo lives. */
export interface DemoPlace {
  /** The folder that holds everything of the demo. */
  readonly home: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Isolated from the user's settings, keys and instructions. */
export const createDemoPlace = (home: string, cwd: string): DemoPlace => ({
  home,
  cwd,
  env: { PALIMPSEST_HOME: join(home, "home"), CLAUDE_CONFIG_DIR: join(home, "none"), PATH: pathWithNode() },
});

/** Puts this Node first: the tests need its version, and the user's PATH may have an older one. */
const pathWithNode = (): string => [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);

export async function openDemoStore({ cwd, env }: DemoPlace): Promise<ProjectStore> {
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind === "failed") throw new Error(project.message);
  return project.deps;
}

/** The same relative path from the sources and from the build. */
const samplePath = fileURLToPath(new URL("../../sample-project", import.meta.url));

/** Copies the sample project to the folder and returns its real path. */
export async function copySampleProject(folder: string): Promise<string> {
  await cp(samplePath, folder, { recursive: true });
  return await realpath(folder);
}

/** Runs the sample project's tests outside the agent, to check what the model says about them. */
export async function runProjectTests(
  cwd: string,
  signal: AbortSignal,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const [, ...args] = testCommand.split(" ");
  const output = await promisify(execFile)(process.execPath, args, { cwd, signal, env: { PATH: pathWithNode() } }).then(
    ({ stdout }) => stdout,
    stdoutFromFailure,
  );
  signal.throwIfAborted();
  return { passed: parseCount(output, "pass"), failed: parseCount(output, "fail") };
}

/** Failing tests make the process exit with 1, which is expected here. */
function stdoutFromFailure(error: unknown): string {
  if (error instanceof Error && "stdout" in error && typeof error.stdout === "string") return error.stdout;
  throw error;
}

function parseCount(output: string, name: "pass" | "fail"): number {
  const count = new RegExp(`^ℹ ${name} (\\d+)$`, "m").exec(output)?.[1];
  if (count === undefined) throw new Error("the sample project's tests did not run");
  return Number(count);
}

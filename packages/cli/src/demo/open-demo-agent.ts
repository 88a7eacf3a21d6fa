import { join, delimiter, dirname } from "node:path";
import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import type { PolicyName } from "palimpsest/internal/schema/setting-table";
import { findSandbox } from "../tool/sandbox/find-sandbox.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { longCommand, testCommand } from "./facts.ts";
import type { ScriptedModel } from "./scripted-model.ts";
import { execFile } from "node:child_process";
import { cp, realpath } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openWorkspace, type ProjectStore } from "../host/workspace.ts";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import type { SessionId } from "palimpsest/internal/schema/brand";

/** As far up from the sources as from what is built from them. */
const samplePath = fileURLToPath(new URL("../../sample-project", import.meta.url));

/** A copy to work on; where it really is. */
export async function copySampleProject(folder: string): Promise<string> {
  await cp(samplePath, folder, { recursive: true });
  return await realpath(folder);
}

/** This Node in front: the tests need no other, and the person may have an older one. */
const pathWithNode = (): string => [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);

interface TestCounts {
  readonly passed: number;
  readonly failed: number;
}

/** The project's tests, run by the demo itself: what the model says of them is not taken on trust. */
export async function runProjectTests(cwd: string, signal: AbortSignal): Promise<TestCounts> {
  const output = await promisify(execFile)(process.execPath, testCommand.split(" ").slice(1), {
    cwd,
    signal,
    env: { PATH: pathWithNode() },
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => stdoutFromFailure(error),
  );
  signal.throwIfAborted();
  return { passed: parseCount(output, "pass"), failed: parseCount(output, "fail") };
}

/** Tests that fail end the process with 1, which is no failure here. */
function stdoutFromFailure(error: unknown): string {
  if (error instanceof Error && "stdout" in error && typeof error.stdout === "string") return error.stdout;
  throw error;
}

function parseCount(output: string, name: "pass" | "fail"): number {
  const figure = new RegExp(`^ℹ ${name} (\\d+)$`, "m").exec(output)?.[1];
  if (figure === undefined) throw new Error("the sample project's tests did not run");
  return Number(figure);
}

/** Where one session of the demo lives. */
export interface DemoPlace {
  /** Everything of the demo lies below it. */
  readonly home: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Nothing of the person's own: no settings, no key, no instructions. */
export const createDemoPlace = (folder: string, cwd: string): DemoPlace => ({
  home: folder,
  cwd,
  env: {
    PALIMPSEST_HOME: join(folder, "home"),
    CLAUDE_CONFIG_DIR: join(folder, "none"),
    PATH: pathWithNode(),
  },
});

interface DemoAgentOptions {
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly session: SessionChoice;
  readonly policy: PolicyName;
  readonly windowTokens: number;
  /** Of compaction. */
  readonly automatic: "on" | "off";
}

/** The real agent with its real tools; only the model is simulated. */
export async function openDemoAgent(options: DemoAgentOptions): Promise<Agent> {
  const { place, model, session, policy, windowTokens, automatic } = options;
  const agent = await openAgent({
    cwd: place.cwd,
    env: place.env,
    version: readOwnVersion(),
    flags: [
      { flag: "context-tokens", text: String(windowTokens) },
      { flag: "policy", text: policy },
      { flag: automatic, text: "compact.auto" },
      // Behind notes 10,000 tokens stay verbatim: in so small a window that makes no room, and they would only be paid for.
      { flag: "off", text: "notes" },
    ],
    session,
    model: { kind: "simulator", actor: model.responder, seed: 0 },
    tools: { mode: "acceptEdits", allow: [`Bash(${testCommand})`, `Bash(${longCommand})`], deny: [] },
    sandbox: await findSandbox({ env: place.env, folder: join(place.home, "sandbox") }),
    planReview: { review: () => Promise.resolve({ kind: "accepted", mode: "acceptEdits" }) },
  });
  if (agent.kind !== "agent") throw new Error(`the demo's agent is ${agent.kind}`);
  return agent;
}

/** The store of the demo's own home. */
export async function openDemoStore({ cwd, env }: DemoPlace): Promise<ProjectStore> {
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind === "failed") throw new Error(project.message);
  return project.deps;
}

/** What is read of a session without opening it. */
export async function openSessionLog(deps: ProjectStore, session: SessionId): Promise<ByteSource> {
  const source = await deps.transcripts.openForReading(session);
  if (source === undefined) throw new Error("the demo's session is gone");
  return source;
}

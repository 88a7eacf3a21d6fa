import { join } from "node:path";
import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import type { PolicyName } from "palimpsest/internal/schema/settings";
import { findSandbox } from "../tool/sandbox/find-sandbox.ts";
import { ownVersion } from "../version.ts";
import { pathWithNode } from "./sample.ts";
import { longCommand, testCommand } from "./facts.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** Where one session of the demo lives. */
export interface DemoPlace {
  /** Everything of the demo lies below it. */
  readonly home: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Nothing of the person's own: no settings, no key, no instructions. */
export const placeIn = (folder: string, cwd: string): DemoPlace => ({
  home: folder,
  cwd,
  env: {
    PALIMPSEST_HOME: join(folder, "home"),
    CLAUDE_CONFIG_DIR: join(folder, "none"),
    PATH: pathWithNode(),
  },
});

export interface DemoAgentOptions {
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly session: SessionChoice;
  readonly policy: PolicyName;
  readonly windowTokens: number;
  /** Of compaction. */
  readonly automatic: "on" | "off";
}

/** The real agent with its real tools; only the model is simulated. */
export async function demoAgent(options: DemoAgentOptions): Promise<Agent> {
  const { place, model, session, policy, windowTokens, automatic } = options;
  const agent = await openAgent({
    cwd: place.cwd,
    env: place.env,
    version: ownVersion(),
    flags: [
      { flag: "context-tokens", text: String(windowTokens) },
      { flag: "policy", text: policy },
      { flag: automatic, text: "compact.auto" },
      // Behind notes 10,000 tokens stay verbatim: in so small a window that makes no room, and they would only be paid for.
      { flag: "off", text: "notes" },
    ],
    session,
    model: { kind: "simulator", actor: model.actor, seed: 0 },
    tools: { mode: "acceptEdits", allow: [`Bash(${testCommand})`, `Bash(${longCommand})`], deny: [] },
    sandbox: await findSandbox({ env: place.env, folder: join(place.home, "sandbox") }),
    planReview: { review: () => Promise.resolve({ kind: "accepted", mode: "acceptEdits" }) },
  });
  if (agent.kind !== "agent") throw new Error(`the demo's agent is ${agent.kind}`);
  return agent;
}

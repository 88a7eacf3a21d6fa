import { join } from "node:path";
import type { SessionChoice } from "../../agent/agent-options.ts";
import { type Agent, openAgent } from "../../agent/open-agent.ts";
import type { PolicyName } from "../../schema/settings.ts";
import { ownVersion } from "../version.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** Where one session of the demo lives. */
export interface DemoPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Nothing of the person's own: no settings, no key, no instructions. */
export const placeIn = (folder: string, cwd: string): DemoPlace => ({
  cwd,
  env: {
    PALIMPSEST_HOME: join(folder, "home"),
    CLAUDE_CONFIG_DIR: join(folder, "none"),
    PATH: process.env["PATH"],
    // The scripted model answers at once: there is nothing to wait for, and each run is to be the same.
    PALIMPSEST_FLAG_COMPACT_BACKGROUND: "0",
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
    ...place,
    version: ownVersion(),
    flags: [
      { flag: "context-tokens", text: String(windowTokens) },
      { flag: "policy", text: policy },
      { flag: automatic, text: "compact.auto" },
      // Its model follows a script, and in so small a window nothing could stay verbatim behind notes.
      { flag: "off", text: "notes" },
    ],
    session,
    model: { kind: "simulator", actor: model.actor, seed: 0 },
    tools: { mode: "acceptEdits", allow: ["Bash(node check.mjs *)"], deny: [] },
  });
  if (agent.kind !== "agent") throw new Error(`the demo's agent is ${agent.kind}`);
  return agent;
}

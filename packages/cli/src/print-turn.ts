import type { Agent } from "./agent/agent.ts";
import { openAgent } from "./agent/open-agent.ts";
import type { AgentOptions } from "./agent/agent-options.ts";
import { serverConnector } from "./tool/mcp/connect.ts";
import { openNet } from "./tool/web/get.ts";
import { agentNotOpened } from "./agent-not-opened.ts";
import { agentOutput } from "./agent-output.ts";
import type { CommandContext, Outcome } from "./command.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Answerer } from "./compact/simulated.ts";
import type { OutputFormat } from "./output-format.ts";
import { sandboxHere } from "./sandbox-here.ts";
import { stopSignal } from "./until-stopped.ts";
import { ownVersion } from "./version.ts";

export interface PrintedTurn extends Pick<AgentOptions, "session" | "model" | "flags" | "tools"> {
  readonly prompt: string;
  readonly format: OutputFormat;
}

/** One turn, and what it says on stdout. Nobody is there to be asked. */
export async function printTurn(context: CommandContext, asked: PrintedTurn): Promise<Outcome> {
  const { env, cwd } = context;
  const { prompt, format, ...choices } = asked;
  const version = ownVersion();
  const sandbox = await sandboxHere(context);
  const reach = { net: openNet, connectServer: serverConnector({ version }), sandbox };
  const opened = await openAgent({ ...choices, env, cwd, version, ...reach, askSizes: "on", turns: "one" });
  if (opened.kind !== "agent") return agentNotOpened(opened, "Add --fork to go on in a session of its own.");
  return turn(context, { agent: opened, answerer: asked.model.kind, prompt, format });
}

interface Turn {
  readonly agent: Agent;
  readonly answerer: Answerer;
  readonly prompt: string;
  readonly format: OutputFormat;
}

async function turn(context: CommandContext, { agent, answerer, prompt, format }: Turn): Promise<ExitCode> {
  const stop = stopSignal();
  const output = agentOutput(context, { agent, answerer, format });
  try {
    await output.before({ problems: agent.settingsProblems, warnings: agent.warnings });
    for await (const event of agent.turn(prompt, stop.signal)) await output.event(event);
    await agent.stopAside();
    return await output.end();
  } finally {
    stop.release();
    await agent.close();
  }
}

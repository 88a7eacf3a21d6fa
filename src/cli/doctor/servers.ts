import type { Engine } from "../../engine.ts";
import type { DefinedServer } from "../../settings/tool-servers.ts";
import { problemText } from "../../settings/problem.ts";
import { serverConnector } from "../../tool/mcp/connect.ts";
import { launchOf } from "../../tool/mcp/launch.ts";
import type { CommandContext } from "../command.ts";
import { counted } from "../human.ts";
import { stopSignal } from "../until-stopped.ts";
import { ownVersion } from "../version.ts";
import { type Check, failed, fine, warning } from "./check.ts";
import { serverMs } from "./limits.ts";

export interface ServersInput {
  readonly context: CommandContext;
  readonly engine: Engine;
  /** `asked`: those that may are started, and ended again. */
  readonly start: "asked" | "not-asked";
}

export async function serverChecks({ context, engine, start }: ServersInput): Promise<readonly Check[]> {
  const { servers, problems, root } = await engine.servers();
  const wrong = problems.map((problem) => warning("mcp", { says: problemText(problem) }));
  // Servers are process groups of their own: a Ctrl-C of the terminal does not reach them.
  const stop = stopSignal();
  try {
    const one = { start, root, stopped: stop.signal };
    const checks = await Promise.all(servers.map((server) => serverCheck(context, { ...one, server })));
    return [...wrong, ...checks];
  } finally {
    stop.release();
  }
}

interface One {
  readonly server: DefinedServer;
  readonly start: ServersInput["start"];
  /** An approval is for a definition in this folder. */
  readonly root: string;
  readonly stopped: AbortSignal;
}

async function serverCheck(context: CommandContext, { server, start, root, stopped }: One): Promise<Check> {
  const { definition, leave, from } = server;
  const name = `mcp ${definition.name}`;
  if (leave === "needed")
    return warning(name, {
      says: `not approved, so it is not started (${from})`,
      todo: "Start palimpsest here: it asks.",
    });
  if (leave === "refused")
    return fine(name, "not started: you refused it, for good (refusedMcpServers in your settings)");
  const ready = launchOf(definition, context.env);
  if (ready.kind === "missing")
    return failed(name, {
      says: `the environment has no ${ready.variables.join(", ")}`,
      todo: `It is named in ${from}.`,
    });
  if (start === "not-asked") return fine(name, "defined; --servers starts it");
  const signal = AbortSignal.any([AbortSignal.timeout(serverMs), stopped]);
  const connected = await serverConnector({ version: ownVersion() })({ ...ready.launch, cwd: root }, signal);
  if (connected.kind === "failed")
    return failed(name, { says: ready.masked(connected.why), todo: `It is defined in ${from}.` });
  try {
    const listed = await connected.server.listTools(signal);
    return listed.kind === "listed"
      ? fine(name, counted(listed.tools.length, "tool"))
      : failed(name, { says: ready.masked(listed.why), todo: `It is defined in ${from}.` });
  } finally {
    await connected.server.close();
  }
}

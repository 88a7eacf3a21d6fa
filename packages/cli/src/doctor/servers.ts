import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { serversInSandbox } from "../agent/servers-in-sandbox.ts";
import { toolChoice } from "../agent/tool-choice.ts";
import type { Engine } from "../host/engine.ts";
import { nobody } from "palimpsest/internal/ports/person";
import type { SandboxSearch } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-servers";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { ServerLaunch } from "palimpsest/internal/schema/tool-server";
import type { SettingsHere } from "../settings/here.ts";
import type { DefinedServer } from "../settings/tool-servers.ts";
import { guardedPaths } from "../settings/files.ts";
import { problemText } from "palimpsest/internal/settings/problem";
import { serverConnector } from "../tool/mcp/connect.ts";
import { launchOf } from "../tool/mcp/launch.ts";
import { permitFor } from "../tool/permission.ts";
import { parseRules } from "../tool/permission/rule.ts";
import { namesHost, SessionHosts } from "../tool/sandbox/network/hosts.ts";
import { sandboxUse } from "../tool/sandbox/sandbox-use.ts";
import { temporaryFolder } from "../tool/sandbox/temporary-folder.ts";
import { openNet } from "../tool/web/get.ts";
import type { CommandContext } from "../command.ts";
import { counted } from "../human.ts";
import { stopSignal } from "../until-stopped.ts";
import { ownVersion } from "../version.ts";
import { type Check, failed, fine, warning } from "./check.ts";
import { serverMs } from "./limits.ts";

export interface ServersInput {
  readonly context: CommandContext;
  readonly engine: Engine;
  readonly here: SettingsHere;
  readonly sandbox: SandboxSearch;
  /** `asked`: those that may are started, and ended again. */
  readonly start: "asked" | "not-asked";
}

export async function serverChecks(input: ServersInput): Promise<readonly Check[]> {
  const { context, engine, start } = input;
  const defined = await engine.servers();
  const { servers, problems, root } = defined;
  const wrong = problems.map((problem) => warning("mcp", { says: problemText(problem) }));
  // Servers are process groups of their own: a Ctrl-C of the terminal does not reach them.
  const stop = stopSignal();
  const temporary = temporaryFolder(sessionId(randomUUID()));
  try {
    const enterFor = await serversInSandbox({ ...heldAs(input, root), temporary, defined });
    const one = { start, root, enterFor, stopped: stop.signal };
    const checks = await Promise.all(servers.map((server) => serverCheck(context, { ...one, server })));
    return [...wrong, ...checks];
  } finally {
    stop.release();
    await temporary.remove();
  }
}

/** As in a session in which nobody is there to be asked: a project's server runs in the sandbox, and reaches what rules open. */
function heldAs({ context, engine, here, sandbox }: ServersInput, root: string) {
  const { settings, files } = here.reading;
  const { mode, ...written } = toolChoice({ allow: [], deny: [] }, settings);
  const { rules } = parseRules(written);
  const hosts = new SessionHosts({
    permit: permitFor({ mode, rules, roots: [root], home: homedir() }),
    isNamed: (host) => namesHost(rules, host),
    person: nobody,
    allowAlways: async () => ({ kind: "wrong", why: "nothing is kept here" }),
  });
  return {
    ownHome: engine.home,
    guarded: guardedPaths(engine.home, files),
    env: context.env,
    root,
    cwd: root,
    sandbox: () => sandboxUse(settings.sandbox.value, sandbox),
    rules: () => rules,
    network: Promise.resolve({ net: openNet, hosts }),
  };
}

interface One {
  readonly server: DefinedServer;
  readonly start: ServersInput["start"];
  /** An approval is for a definition in this folder. */
  readonly root: string;
  readonly enterFor: (launch: ServerLaunch) => ServerStart["enter"];
  readonly stopped: AbortSignal;
}

async function serverCheck(context: CommandContext, { server, start, root, enterFor, stopped }: One): Promise<Check> {
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
  const launch = { ...ready.launch, cwd: root, enter: enterFor(ready.launch) };
  const connected = await serverConnector({ version: ownVersion() })(launch, signal);
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

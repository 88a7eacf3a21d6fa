import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { sandboxServers } from "../agent/tools/sandbox-servers.ts";
import { resolvePermissionChoice } from "../agent/tools/permission-choice.ts";
import type { Workspace } from "../host/workspace.ts";
import { noUser } from "palimpsest/internal/ports/user-port";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { OfferedTool, ServerStart } from "palimpsest/internal/ports/tool-server";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { ServerLaunch } from "palimpsest/internal/schema/server-definition";
import type { ProjectSettings } from "../settings/project-settings.ts";
import type { DefinedServer } from "../settings/defined-servers.ts";
import { pathsToGuard } from "../settings/scope-files.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";
import { estimateBlock } from "palimpsest/internal/tokens/estimate-block";
import { renderDefinition } from "../tool/mcp/known-server.ts";
import { serverConnector } from "../tool/mcp/server-connector.ts";
import { resolveLaunch } from "../tool/mcp/managed-server.ts";
import { createPermit } from "../tool/permission/create-permit.ts";
import { parseRules } from "../tool/permission/rule.ts";
import { isHostNamed, SessionHosts } from "../tool/sandbox/network/session-hosts.ts";
import { chooseSandboxUse } from "../tool/sandbox/find-sandbox.ts";
import { temporaryFolder } from "../tool/sandbox/temporary-folder.ts";
import { openNet } from "../tool/web/get-page.ts";
import type { CommandContext } from "../program/command.ts";
import { formatNumber, quantity } from "../text/format.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { type Check, failingCheck, okCheck, warningCheck } from "./check.ts";
import { serverMs } from "./limits.ts";

interface ServerChecksInput {
  readonly context: CommandContext;
  readonly workspace: Workspace;
  readonly here: ProjectSettings;
  readonly sandbox: SandboxSearchOutcome;
  /** `asked`: the approved ones are started, and ended again. */
  readonly start: "asked" | "not-asked";
}

export async function serverChecks(input: ServerChecksInput): Promise<readonly Check[]> {
  const { context, workspace, start } = input;
  const defined = await workspace.servers();
  const { servers, problems, root } = defined;
  const problemChecks = problems.map((problem) => warningCheck("mcp", { says: formatProblem(problem) }));
  // Servers are process groups of their own: a Ctrl-C of the terminal does not reach them.
  const stop = stopSignal();
  const temporary = temporaryFolder(sessionId(randomUUID()));
  try {
    const enterFor = await sandboxServers({ ...sandboxInput(input, root), temporary, defined });
    const shared = { start, root, enterFor, stopped: stop.signal };
    const checks = await Promise.all(servers.map((server) => serverCheck(context, { ...shared, server })));
    return [...problemChecks, ...checks];
  } finally {
    stop.release();
    await temporary.remove();
  }
}

/**
 * As in a session without a user to ask: a project's server runs in the sandbox, and reaches only hosts that rules
 * allow.
 */
function sandboxInput({ context, workspace, here, sandbox }: ServerChecksInput, root: string) {
  const { settings, files } = here.reading;
  const { mode, ...ruleTexts } = resolvePermissionChoice({ allow: [], deny: [] }, settings);
  const { rules } = parseRules(ruleTexts);
  const hosts = new SessionHosts({
    permit: createPermit({ mode, rules, roots: [root], home: homedir() }),
    isNamed: (host) => isHostNamed(rules, host),
    user: noUser,
    allowAlways: async () => ({ kind: "wrong", why: "nothing is kept here" }),
  });
  return {
    ownHome: workspace.home,
    guarded: pathsToGuard(workspace.home, files),
    env: context.env,
    root,
    cwd: root,
    sandbox: () => chooseSandboxUse(settings.sandbox.value, sandbox),
    rules: () => rules,
    network: Promise.resolve({ net: openNet, hosts }),
  };
}

interface ServerCheckInput {
  readonly server: DefinedServer;
  readonly start: ServerChecksInput["start"];
  /** An approval is for a definition in this folder. */
  readonly root: string;
  readonly enterFor: (launch: ServerLaunch) => ServerStart["enter"];
  readonly stopped: AbortSignal;
}

async function serverCheck(
  context: CommandContext,
  { server, start, root, enterFor, stopped }: ServerCheckInput,
): Promise<Check> {
  const { definition, leave, from } = server;
  const name = `mcp ${definition.name}`;
  if (leave === "needed")
    return warningCheck(name, {
      says: `not approved, so it is not started (${from})`,
      todo: "Start palimpsest here: it asks.",
    });
  if (leave === "refused")
    return okCheck(name, "not started: you refused it, for good (refusedMcpServers in your settings)");
  const ready = resolveLaunch(definition, context.env);
  if (ready.kind === "missing")
    return failingCheck(name, {
      says: `the environment has no ${ready.variables.join(", ")}`,
      todo: `It is named in ${from}.`,
    });
  if (start === "not-asked") return okCheck(name, "defined; --servers starts it");
  const signal = AbortSignal.any([AbortSignal.timeout(serverMs), stopped]);
  const launch = { ...ready.launch, cwd: root, enter: enterFor(ready.launch) };
  const connected = await serverConnector({ version: readOwnVersion() })(launch, signal);
  if (connected.kind === "failed")
    return failingCheck(name, { says: ready.masked(connected.why), todo: `It is defined in ${from}.` });
  try {
    const listed = await connected.server.listTools(signal);
    return listed.kind === "listed"
      ? okCheck(name, toolsText(definition.name, listed.tools))
      : failingCheck(name, { says: ready.masked(listed.why), todo: `It is defined in ${from}.` });
  } finally {
    await connected.server.close();
  }
}

/** Names what a search keeps out of every request. */
function toolsText(server: string, tools: readonly OfferedTool[]): string {
  const count = quantity(tools.length, "tool");
  if (tools.length === 0) return count;
  const text = tools.map((tool) => renderDefinition({ server, tool })).join("\n\n");
  return `${count}, some ${formatNumber(estimateBlock({ type: "text", text }))} tokens, deferred behind tool_search`;
}

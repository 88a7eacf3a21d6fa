import { homedir } from "node:os";
import type { ProgramStart, SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-server";
import { toolUseId } from "palimpsest/internal/schema/brand";
import type { ServerLaunch } from "palimpsest/internal/schema/server-definition";
import type { DefinedServers } from "../../settings/defined-servers.ts";
import { realRoots } from "../../tool/resolve-real-path.ts";
import type { Rules } from "../../tool/permission/rule.ts";
import {
  type CommandNetwork,
  commandNetwork,
  type SessionNetworkDeps,
} from "../../tool/sandbox/network/command-network.ts";
import { sessionSandbox } from "../../tool/sandbox/session-sandbox.ts";
import type { TemporaryFolder } from "../../tool/sandbox/temporary-folder.ts";

interface SandboxedServersInput {
  /** The home folder of this engine. */
  readonly ownHome: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project's folder. */
  readonly root: string;
  readonly sandbox: () => SandboxUse;
  readonly temporary: TemporaryFolder;
  /** A real path. */
  readonly cwd: string;
  /** Files and folders that hold settings, by their given names. */
  readonly guarded: readonly string[];
  /** Called at each start. */
  readonly rules: () => Rules;
  readonly defined: DefinedServers;
  /** Undefined: they reach no host. */
  readonly network: Promise<SessionNetworkDeps | undefined>;
}

/**
 * How each server enters the sandbox. The user's own servers run as the user set them up. A project's server was
 * approved by its definition, but the user has not seen what its program does: it is confined like an allowed command.
 */
export async function sandboxServers({
  root,
  cwd,
  sandbox,
  defined,
  network,
  ...places
}: SandboxedServersInput): Promise<(launch: ServerLaunch) => ServerStart["enter"]> {
  const confinement = sessionSandbox({
    use: sandbox,
    roots: await realRoots([root, cwd]),
    home: homedir(),
    readRoots: [],
    ...places,
  });
  const userServers = new Set(
    defined.servers.flatMap(({ scope, definition }) => (scope === "user" ? [definition.name] : [])),
  );
  return ({ definition: { name } }) =>
    userServers.has(name)
      ? undefined
      : async (start) =>
          confinement.enter(start, { acts: [], network: serverNetwork({ name, start, session: await network }) });
}

/** Each host is decided by rule or by asking, as for a command. */
const serverNetwork = ({
  name,
  start,
  session,
}: {
  readonly name: string;
  readonly start: ProgramStart;
  readonly session: SessionNetworkDeps | undefined;
}): CommandNetwork | undefined =>
  session &&
  commandNetwork(session, {
    toolUse: toolUseId(`server-${name}`),
    command: [start.program, ...start.args].join(" "),
    calledAs: `The project's MCP server ${name}`,
    signal: new AbortController().signal,
  });

import { homedir } from "node:os";
import type { SandboxUse } from "../ports/sandbox.ts";
import type { ServerStart } from "../ports/tool-servers.ts";
import type { ServerLaunch } from "../schema/tool-server.ts";
import type { DefinedServers } from "../settings/tool-servers.ts";
import { realRoots } from "../tool/confine.ts";
import type { Rules } from "../tool/permission/rule.ts";
import { sessionSandbox } from "../tool/sandbox/session-sandbox.ts";
import type { TemporaryFolder } from "../tool/sandbox/temporary-folder.ts";
import type { Assembling } from "./assembling.ts";

export interface HeldServers {
  readonly sandbox: () => SandboxUse;
  readonly temporary: TemporaryFolder;
  /** A real path. */
  readonly cwd: string;
  /** Asked for at each start. */
  readonly rules: () => Rules;
  readonly defined: DefinedServers;
}

/**
 * How each server enters the sandbox. A user's own runs as they set it up. A project's was approved by its definition,
 * and what the program behind it does nobody has seen: it is held like a command that was allowed.
 */
export async function serversInSandbox(
  { engine, options, root }: Assembling,
  { sandbox, temporary, cwd, rules, defined }: HeldServers,
): Promise<(launch: ServerLaunch) => ServerStart["enter"]> {
  const held = sessionSandbox({
    use: sandbox,
    roots: await realRoots([root, cwd]),
    home: homedir(),
    ownHome: engine.home,
    env: options.env,
    readRoots: [],
    rules,
    temporary,
  });
  const ofUser = new Set(
    defined.servers.flatMap(({ scope, definition }) => (scope === "user" ? [definition.name] : [])),
  );
  return ({ definition }) => (ofUser.has(definition.name) ? undefined : (start) => held.enter(start, { acts: [] }));
}

import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { contextDraft } from "palimpsest/internal/context/reminders";
import type { FollowedSettings } from "./follow-settings.ts";
import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { RunningGroups } from "palimpsest/internal/ports/running-groups";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-servers";
import { guardedPaths } from "../settings/files.ts";
import { problemText } from "palimpsest/internal/settings/problem";
import { type DefinedServers, serversHere } from "../settings/tool-servers.ts";
import type { KnownServer } from "../tool/mcp/catalogue.ts";
import { ToolServers } from "../tool/mcp/servers.ts";
import { toldServers } from "../tool/mcp/told.ts";
import { useToolName } from "../tool/mcp/tools.ts";
import { parseRules } from "../tool/permission/rule.ts";
import type { SessionNetworkDeps } from "../tool/sandbox/network/command-network.ts";
import { type TemporaryFolder, temporaryFolder } from "../tool/sandbox/temporary-folder.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { endedText } from "../tool/shell/job-tools.ts";
import { ShellJobs } from "../tool/shell/jobs.ts";
import { unclosed } from "palimpsest/internal/transcript/attachment";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { AgentOptions } from "./agent-options.ts";
import type { Assembling } from "./assembling.ts";
import { toolChoice } from "./tool-choice.ts";
import { sandboxChoice, sandboxWarnings } from "./sandbox-choice.ts";
import { serversInSandbox } from "./servers-in-sandbox.ts";

/** What runs beside a session's conversation for its agent, and ends with the session. */
export interface JobsAndServers {
  /** Absent where nothing may run in the background. */
  readonly jobs: Jobs | undefined;
  /** Lets them outlive the session's close, for the next agent of the same session, which ends them then. */
  readonly handOver: () => Jobs | undefined;
  /** Of the session's commands: removed with it, or with the jobs that were handed over. */
  readonly temporary: TemporaryFolder;
  /** How commands, and servers of the project, run now. */
  readonly sandbox: () => SandboxUse;
  /** Servers of the project are not started before it is known how they reach hosts. Undefined: they reach none. */
  readonly reachThrough: (network: SessionNetworkDeps | undefined) => void;
  /** Absent where none may be started. */
  readonly servers: ToolServers | undefined;
  /** What is known of the servers once each has answered or has failed to. Must not reject. */
  readonly serversSettled: () => Promise<readonly KnownServer[]>;
  /** To be told before the next request. */
  readonly news: () => readonly Draft[];
  /** For people, when it opens. */
  readonly warnings: readonly string[];
  /** For people, as it comes. */
  readonly takeWarnings: () => readonly string[];
}

export interface BesideInput {
  readonly settings: FollowedSettings;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  /** A real path. */
  readonly cwd: string;
  /** That the model takes for its own. */
  readonly toolsHad: ReadonlySet<string>;
}

export async function jobsAndServers(
  parts: Assembling,
  { settings, shell, groups, cwd, toolsHad }: BesideInput,
): Promise<JobsAndServers> {
  const { engine, options, deps, root, session } = parts;
  const temporary = temporaryFolder(session.id);
  const forJobs = { now: deps.now, shell: shell.path, groups, afterClose: temporary.remove };
  const jobs = jobsFor(options.jobs, () => new ShellJobs(forJobs));
  let ending = jobs;
  // As it opens: what is written while the session runs waits for the next, as hooks do.
  const defined = await serversHere(settings.current(), { root, hash });
  const definitions = defined.servers.flatMap(({ leave, definition }) => (leave === "given" ? [definition] : []));
  const { connectServer: connect, env } = options;
  // Where none can be reached, a session that has had them keeps the tools for them, and none to call.
  const started = connect === undefined ? [] : definitions;
  const sandbox = sandboxChoice(options.sandbox, () => settings.current().settings);
  const rules = () => parseRules(toolChoice(options.tools, settings.current().settings)).rules;
  const network = Promise.withResolvers<SessionNetworkDeps | undefined>();
  const guarded = guardedPaths(engine.home, settings.current().files);
  const held = { ownHome: engine.home, env, root, cwd, sandbox, temporary, rules, defined, guarded };
  const enterFor = await serversInSandbox({ ...held, network: network.promise });
  const isKept = connect === undefined && toolsHad.has(useToolName);
  const servers =
    started.length === 0 && !isKept
      ? undefined
      : new ToolServers(
          {
            connect: async (launch, signal) =>
              connect?.({ ...launch, cwd: root, record: recordIn(groups), enter: enterFor(launch) }, signal) ??
              notReached,
            env,
            hash,
            wait: waitFor,
          },
          { definitions: started, told: () => toldServers(session.fold) },
        );
  // Also where the agent does not come to be: nothing of it outlives the session.
  session.onClose(async () => {
    network.resolve(undefined);
    await Promise.all([ending?.close(), servers?.close()]);
    if (jobs === undefined) await temporary.remove();
  });
  return {
    jobs,
    sandbox,
    reachThrough: network.resolve,
    temporary,
    handOver: () => {
      ending = undefined;
      return jobs;
    },
    servers,
    serversSettled: async () => {
      await servers?.settled();
      return servers?.known() ?? [];
    },
    news: () => [
      ...(servers?.takeNews() ?? []),
      ...(jobs?.takeEnded() ?? []).map((job) => contextDraft(unclosed(endedText(job)))),
    ],
    warnings: [
      ...sandboxWarnings(sandbox()),
      ...defined.problems.map(problemText),
      ...(connect === undefined ? unreached(defined) : unapproved(defined)),
    ],
    takeWarnings: () => servers?.takeWarnings() ?? [],
  };
}

function jobsFor(asked: AgentOptions["jobs"], made: () => Jobs): Jobs | undefined {
  if (typeof asked === "object") return asked;
  return asked === "on" ? made() : undefined;
}

const notReached = { kind: "failed", why: "servers are not reached here" } as const;

/** So that what outlives a killed agent is ended when its session is gone on with. */
const recordIn = (groups: RunningGroups | undefined): ServerStart["record"] =>
  groups && ((leader) => groups.record({ leader, toolUse: undefined }));

const unreached = ({ servers }: DefinedServers): readonly string[] => {
  const names = servers.map(({ definition }) => definition.name).join(", ");
  return names === "" ? [] : [`MCP servers are not started here: ${names}.`];
};

const unapproved = ({ servers }: DefinedServers): readonly string[] =>
  servers.flatMap(({ leave, definition: { name } }) =>
    leave === "needed" ? [`The project's MCP server ${name} is not started: you have not approved of it.`] : [],
  );

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Whoever stops waiting has his reasons. A pause alone keeps no process alive. */
const waitFor = (time: number, signal: AbortSignal): Promise<void> =>
  wait(time, undefined, { signal, ref: false }).catch(() => undefined);

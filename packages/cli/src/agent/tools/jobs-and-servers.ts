import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { contextDraft } from "palimpsest/internal/context/inputs";
import type { FollowedSettings } from "../follow-settings.ts";
import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { RunningGroups, LeftoverGroup, SessionFiles } from "palimpsest/internal/ports/session-files";
import type { SandboxUse, SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-server";
import { pathsToGuard } from "../../settings/scope-files.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";
import { type DefinedServers, readServers } from "../../settings/defined-servers.ts";
import type { KnownServer } from "../../tool/mcp/known-server.ts";
import { ToolServers, findShownAnnouncement } from "../../tool/mcp/tool-servers.ts";
import { useToolName } from "../../tool/mcp/tool-search-tool.ts";
import { parseRules } from "../../tool/permission/rule.ts";
import type { SessionNetworkDeps } from "../../tool/sandbox/network/command-network.ts";
import { type TemporaryFolder, temporaryFolder } from "../../tool/sandbox/temporary-folder.ts";
import type { Shell } from "../../tool/shell/bash-tool.ts";
import { jobEndText } from "../../tool/shell/bash-output-tool.ts";
import { ShellJobs } from "../../tool/shell/shell-jobs.ts";
import { escapeReminderTag } from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { AgentOptions, AgentParts } from "../agent-options.ts";
import { resolveToolChoice } from "./tool-choice.ts";
import { sandboxServers } from "./sandbox-servers.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { endGroup } from "../../tool/signal-group.ts";
import { endedLaterText } from "palimpsest/internal/transcript/repair";
import type { Settings } from "palimpsest/internal/settings/resolve-settings";
import { strongerMode } from "../../settings/narrow-project-file.ts";
import { chooseSandboxUse } from "../../tool/sandbox/find-sandbox.ts";

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

interface JobsAndServersInput {
  readonly settings: FollowedSettings;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  /** A real path. */
  readonly cwd: string;
  /** That the model takes for its own. */
  readonly toolsHad: ReadonlySet<string>;
}

export async function startJobsAndServers(
  parts: AgentParts,
  { settings, shell, groups, cwd, toolsHad }: JobsAndServersInput,
): Promise<JobsAndServers> {
  const { engine, options, deps, root, session } = parts;
  const temporary = temporaryFolder(session.id);
  const forJobs = { now: deps.now, shell: shell.path, groups, afterClose: temporary.remove };
  const jobs = openJobs(options.jobs, () => new ShellJobs(forJobs));
  let ending = jobs;
  // As it opens: what is written while the session runs waits for the next, as hooks do.
  const defined = await readServers(settings.current(), { root, hash });
  const definitions = defined.servers.flatMap(({ leave, definition }) => (leave === "given" ? [definition] : []));
  const { connectServer: connect, env } = options;
  // Where none can be reached, a session that has had them keeps the tools for them, and none to call.
  const started = connect === undefined ? [] : definitions;
  const sandbox = followSandboxSetting(options.sandbox, () => settings.current().settings);
  const rules = () => parseRules(resolveToolChoice(options.tools, settings.current().settings)).rules;
  const network = Promise.withResolvers<SessionNetworkDeps | undefined>();
  const guarded = pathsToGuard(engine.home, settings.current().files);
  const held = { ownHome: engine.home, env, root, cwd, sandbox, temporary, rules, defined, guarded };
  const enterFor = await sandboxServers({ ...held, network: network.promise });
  const isKept = connect === undefined && toolsHad.has(useToolName);
  const servers =
    started.length === 0 && !isKept
      ? undefined
      : new ToolServers(
          {
            connect: async (launch, signal) =>
              connect?.({ ...launch, cwd: root, record: recordGroup(groups), enter: enterFor(launch) }, signal) ??
              connectUnavailable,
            env,
            hash,
            wait: pauseUnref,
          },
          { definitions: started, shownAnnouncement: () => findShownAnnouncement(session.fold) },
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
      ...(jobs?.takeEnded() ?? []).map((job) => contextDraft(escapeReminderTag(jobEndText(job)))),
    ],
    warnings: [
      ...sandboxWarnings(sandbox()),
      ...defined.problems.map(formatProblem),
      ...(connect === undefined ? notStartedWarnings(defined) : notApprovedWarnings(defined)),
    ],
    takeWarnings: () => servers?.takeWarnings() ?? [],
  };
}

function openJobs(asked: AgentOptions["jobs"], made: () => Jobs): Jobs | undefined {
  if (typeof asked === "object") return asked;
  return asked === "on" ? made() : undefined;
}

const connectUnavailable = { kind: "failed", why: "servers are not reached here" } as const;

/** So that what outlives a killed agent is ended when its session is gone on with. */
const recordGroup = (groups: RunningGroups | undefined): ServerStart["record"] =>
  groups && ((leader) => groups.record({ leader, toolUse: undefined }));

const notStartedWarnings = ({ servers }: DefinedServers): readonly string[] => {
  const names = servers.map(({ definition }) => definition.name).join(", ");
  return names === "" ? [] : [`MCP servers are not started here: ${names}.`];
};

const notApprovedWarnings = ({ servers }: DefinedServers): readonly string[] =>
  servers.flatMap(({ leave, definition: { name } }) =>
    leave === "needed" ? [`The project's MCP server ${name} is not started: you have not approved of it.`] : [],
  );

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Whoever stops waiting has his reasons. A pause alone keeps no process alive. */
const pauseUnref = (time: number, signal: AbortSignal): Promise<void> =>
  wait(time, undefined, { signal, ref: false }).catch(() => undefined);

interface OrphanInput extends Pick<AgentParts, "session"> {
  readonly jobs: AgentOptions["jobs"];
}

export type EndOrphansOutcome =
  | {
      readonly kind: "settled";
      /** For the commands to come. Undefined in a store that keeps no record of them. */
      readonly groups: RunningGroups | undefined;
      readonly warnings: readonly string[];
    }
  | WriteFailure;

/**
 * Commands that outlived an earlier run of the session, which was killed, are ended, and their calls answered with that.
 * Of a group without its leader nobody knows whose it is: it is told, as long as it is there.
 */
export async function endOrphanedCommands(
  deps: SessionFiles,
  { session, jobs }: OrphanInput,
): Promise<EndOrphansOutcome> {
  const groups = deps.runningGroupsFor?.(session.id);
  // Jobs that were handed over run on, and are on record; whoever had them has settled what was left before.
  if (typeof jobs === "object") return { kind: "settled", groups, warnings: [] };
  const left = (await groups?.left()) ?? [];
  const warnings = left.flatMap(({ state, leader }) =>
    state === "leaderless" ? [`A command of the last run may still be running (group ${leader}).`] : [],
  );
  const ended = await endOrphanGroups(left);
  // Servers of tools that were left running are nobody's call, and are started anew.
  const calls = ended.flatMap(({ toolUse }) => toolUse ?? []);
  if (calls.length === 0) return { kind: "settled", groups, warnings };
  const settled = await session.settle(new Map(calls.map((toolUse) => [toolUse, endedLaterText])));
  if (settled.kind === "failed") return settled;
  return {
    kind: "settled",
    groups,
    warnings: [`Commands that an earlier run had left running were ended (${calls.join(", ")}).`, ...warnings],
  };
}

async function endOrphanGroups(left: readonly LeftoverGroup[]): Promise<readonly LeftoverGroup[]> {
  await Promise.all(
    left.map(async ({ leader, state, forget }) => {
      if (state === "ours") await endGroup(leader);
      if (state !== "leaderless") await forget();
    }),
  );
  return left.filter(({ state }) => state === "ours");
}

/**
 * How commands run while a session is open. A setting that is strengthened meanwhile counts at once and stays; one that
 * is weakened counts when the session is opened again, since the agent itself may have changed the file.
 */
export function followSandboxSetting(
  found: SandboxSearchOutcome | undefined,
  settings: () => Settings,
): () => SandboxUse {
  if (found === undefined) return () => ({ kind: "unheld", because: "off" });
  let mode = settings().sandbox.value;
  return () => {
    mode = strongerMode(mode, settings().sandbox.value);
    return chooseSandboxUse(mode, found);
  };
}

/** For people, when a session opens: why no command will run. */
const sandboxWarnings = (use: SandboxUse): readonly string[] =>
  use.kind === "refused"
    ? [`No command runs: you require a sandbox, and there is none here: ${use.why}. To have one, ${use.remedy}.`]
    : [];

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
import { jobEndText } from "../../tool/shell/job-tools.ts";
import { ShellJobs } from "../../tool/shell/shell-jobs.ts";
import { escapeReminderTag } from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { AgentOptions, AgentParts } from "../agent-options.ts";
import type { PermissionChoice } from "./permission-choice.ts";
import { sandboxServers } from "./sandbox-servers.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { endGroup } from "../../tool/signal-group.ts";
import { endedLaterText } from "palimpsest/internal/transcript/repair";
import type { Settings } from "palimpsest/internal/settings/resolve-settings";
import { strongerMode } from "../../settings/narrow-project-file.ts";
import { chooseSandboxUse } from "../../tool/sandbox/find-sandbox.ts";

/** What runs in the background of a session and ends with it. */
export interface JobsAndServers {
  /** Absent if nothing may run in the background. */
  readonly jobs: Jobs | undefined;
  /** Lets the jobs outlive the session's close. The next agent of the same session ends them then. */
  readonly handOver: () => Jobs | undefined;
  /** For the session's commands. Removed with the session, or with the jobs that were handed over. */
  readonly temporary: TemporaryFolder;
  /** How commands and the project's servers run now. */
  readonly sandbox: () => SandboxUse;
  /** The project's servers start only once it is known how they reach hosts. Undefined: they reach none. */
  readonly reachThrough: (network: SessionNetworkDeps | undefined) => void;
  /** Absent if none may be started. */
  readonly servers: ToolServers | undefined;
  /** Resolves with what is known of the servers once each has answered or failed. Must not reject. */
  readonly serversSettled: () => Promise<readonly KnownServer[]>;
  /** To be appended before the next request. */
  readonly news: () => readonly Draft[];
  /** Shown to the user when the session opens. */
  readonly warnings: readonly string[];
  /** Shown to the user as they come up. */
  readonly takeWarnings: () => readonly string[];
}

interface JobsAndServersInput {
  readonly settings: FollowedSettings;
  /** From flags and settings. A server that starts again must get no wider rules than when the session opened. */
  readonly choice: () => PermissionChoice;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  /** A real path. */
  readonly cwd: string;
  /** The tools that the model believes to have. */
  readonly toolsKnown: ReadonlySet<string>;
}

export async function startJobsAndServers(
  parts: AgentParts,
  { settings, choice, shell, groups, cwd, toolsKnown }: JobsAndServersInput,
): Promise<JobsAndServers> {
  const { workspace, options, deps, root, session } = parts;
  const temporary = temporaryFolder(session.id);
  const jobsDeps = { now: deps.now, shell: shell.path, groups, afterClose: temporary.remove };
  const jobs = openJobs(options.jobs, () => new ShellJobs(jobsDeps));
  let jobsToClose = jobs;
  // Read once: what is written while the session runs counts for the next, as with hooks.
  const defined = await readServers(settings.current(), { root, hash });
  const definitions = defined.servers.flatMap(({ leave, definition }) => (leave === "given" ? [definition] : []));
  const { connectServer: connect, env } = options;
  // If no server can be reached, a session that has had them keeps the tools for them, without any server to call.
  const definitionsToStart = connect === undefined ? [] : definitions;
  const sandbox = followSandboxSetting(options.sandbox, () => settings.current().settings);
  const rules = () => parseRules(choice()).rules;
  const network = Promise.withResolvers<SessionNetworkDeps | undefined>();
  const guarded = pathsToGuard(workspace.home, settings.current().files);
  const sandboxInput = { ownHome: workspace.home, env, root, cwd, sandbox, temporary, rules, defined, guarded };
  const enterFor = await sandboxServers({ ...sandboxInput, network: network.promise });
  const keepsTools = connect === undefined && toolsKnown.has(useToolName);
  const servers =
    definitionsToStart.length === 0 && !keepsTools
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
          { definitions: definitionsToStart, shownAnnouncement: () => findShownAnnouncement(session.fold) },
        );
  // Registered early: also if the agent can't be opened, nothing outlives the session.
  session.onClose(async () => {
    network.resolve(undefined);
    await Promise.all([jobsToClose?.close(), servers?.close()]);
    if (jobs === undefined) await temporary.remove();
  });
  return {
    jobs,
    sandbox,
    reachThrough: network.resolve,
    temporary,
    handOver: () => {
      jobsToClose = undefined;
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

function openJobs(option: AgentOptions["jobs"], create: () => Jobs): Jobs | undefined {
  if (typeof option === "object") return option;
  return option === "on" ? create() : undefined;
}

const connectUnavailable = { kind: "failed", why: "servers are not reached here" } as const;

/** Lets processes that outlive a killed agent be ended when its session is resumed. */
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

/** Resolves early if the signal aborts. The timer alone keeps no process alive. */
const pauseUnref = (time: number, signal: AbortSignal): Promise<void> =>
  wait(time, undefined, { signal, ref: false }).catch(() => undefined);

interface OrphanInput extends Pick<AgentParts, "session"> {
  readonly jobs: AgentOptions["jobs"];
}

export type EndOrphansOutcome =
  | {
      readonly kind: "settled";
      /** Records the commands to come. Undefined in a store that keeps no record of them. */
      readonly groups: RunningGroups | undefined;
      readonly warnings: readonly string[];
    }
  | WriteFailure;

/**
 * Ends commands that outlived an earlier run of the session, which was killed, and answers their calls with that. The
 * owner of a group without a leader is unknown: it is reported as long as it exists.
 */
export async function endOrphanedCommands(
  deps: SessionFiles,
  { session, jobs }: OrphanInput,
): Promise<EndOrphansOutcome> {
  const groups = deps.runningGroupsFor?.(session.id);
  // Jobs that were handed over go on and stay on record; their previous agent has settled what was left before.
  if (typeof jobs === "object") return { kind: "settled", groups, warnings: [] };
  const leftover = (await groups?.left()) ?? [];
  const warnings = leftover.flatMap(({ state, leader }) =>
    state === "leaderless" ? [`A command of the last run may still be running (group ${leader}).`] : [],
  );
  const ended = await endOrphanGroups(leftover);
  // MCP servers that were left running belong to no call, and are started anew.
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

/** Ends the groups that an earlier run left on record, and returns them. Only for who holds the lock of their session. */
export const endLeftGroups = async (groups: RunningGroups | undefined): Promise<readonly LeftoverGroup[]> =>
  endOrphanGroups((await groups?.left()) ?? []);

async function endOrphanGroups(leftover: readonly LeftoverGroup[]): Promise<readonly LeftoverGroup[]> {
  await Promise.all(
    leftover.map(async ({ leader, state, forget }) => {
      if (state === "ours") await endGroup(leader);
      if (state !== "leaderless") await forget();
    }),
  );
  return leftover.filter(({ state }) => state === "ours");
}

/**
 * How commands run while a session is open. A setting that becomes stronger counts at once and stays; one that becomes
 * weaker counts when the session is opened again, since the agent itself may have changed the file.
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

/** Tells the user when a session opens why no command will run. */
const sandboxWarnings = (use: SandboxUse): readonly string[] =>
  use.kind === "refused"
    ? [`No command runs: you require a sandbox, and there is none here: ${use.why}. To have one, ${use.remedy}.`]
    : [];

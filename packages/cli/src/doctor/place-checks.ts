import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { pickModel } from "../agent/model/model-choice.ts";
import { modelDefault } from "../agent/agent-options.ts";
import { allSettingsProblems } from "../agent/all-settings-problems.ts";
import type { Workspace } from "../host/workspace.ts";
import type { ProjectStore } from "../host/project-store.ts";
import { millis } from "palimpsest/internal/schema/brand";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import { type ProjectSettings, serverUrl, usesOpenaiApi } from "../settings/project-settings.ts";
import type { CommandContext } from "../program/command.ts";
import { quantity, shortId } from "../text/format.ts";
import { problemWithHint } from "../program/report-problems.ts";
import { type Check, failingCheck, okCheck, warningCheck } from "./check.ts";
import { onlineMs, sessionsLookedAtMax } from "./limits.ts";
import { checkLog } from "palimpsest/internal/session/check-log";
import type { SessionSummary } from "palimpsest/internal/ports/store";

interface PlaceChecksInput {
  readonly context: CommandContext;
  readonly workspace: Workspace;
  readonly here: ProjectSettings;
  /** `asked`: checks whether the model's address answers. */
  readonly online: "asked" | "not-asked";
}

/** The home folder, settings, key and hooks. */
export async function placeChecks(input: PlaceChecksInput): Promise<readonly Check[]> {
  const { context, workspace, here } = input;
  return [
    await homeCheck(workspace.home),
    ...(await settingsChecks(here)),
    modelCheck(input),
    ...(input.online === "asked" ? [await onlineCheck(input)] : []),
    ...(await hookChecks(here.reading.settings.hooks.value, context)),
  ];
}

/** The folder holds conversations, which other users must not read. */
const openBits = 0o077;

async function homeCheck(home: string): Promise<Check> {
  const found = await stat(home).catch(() => undefined);
  if (found === undefined) return okCheck("home", `${home} (made with the first session)`);
  if (!found.isDirectory())
    return failingCheck("home", { says: `${home} is no folder`, todo: "Move it away, or set PALIMPSEST_HOME." });
  const isWritable = await access(home, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    return failingCheck("home", { says: `${home} may not be written`, todo: `chown or chmod it: chmod 700 ${home}` });
  if ((found.mode & openBits) !== 0)
    return warningCheck("home", { says: `others may look into ${home}`, todo: `chmod 700 ${home}` });
  return okCheck("home", home);
}

async function settingsChecks({ reading }: ProjectSettings): Promise<readonly Check[]> {
  const problems = allSettingsProblems(reading).map((problem): Check => {
    const make = problem.severity === "error" ? failingCheck : warningCheck;
    return make("settings", { says: problemWithHint(problem) });
  });
  const userFile = reading.files.find(({ scope, state }) => scope === "user" && state === "read");
  const stats = userFile && (await stat(userFile.path).catch(() => undefined));
  const readableByOthers =
    userFile !== undefined && stats !== undefined && (stats.mode & openBits) !== 0
      ? [warningCheck("settings", { says: `others may read ${userFile.path}`, todo: `chmod 600 ${userFile.path}` })]
      : [];
  const read = reading.files.filter(({ state }) => state === "read");
  const all = [...problems, ...readableByOthers];
  return all.length > 0 ? all : [okCheck("settings", `${quantity(read.length, "file")}, no errors`)];
}

/** The key itself is never shown. */
function modelCheck({ context: { env }, here }: PlaceChecksInput): Check {
  const name = here.resolved.model ?? modelDefault;
  const picked = pickModel({ choice: { kind: "provider" }, name, env, now: () => millis(Date.now()) });
  return picked.kind === "model"
    ? okCheck("model", `${name}: a key is set`)
    : warningCheck("model", { says: `${name}: there is no key`, todo: picked.message });
}

async function onlineCheck({ context: { env }, here }: PlaceChecksInput): Promise<Check> {
  const url = modelAddress(here.resolved.model ?? modelDefault, env);
  if (!URL.canParse(url))
    return failingCheck("online", { says: "the model's address is no URL", todo: "Look at the *_BASE_URL variables." });
  const { host } = new URL(url);
  try {
    const { status } = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(onlineMs), redirect: "manual" });
    return okCheck("online", `${host} answers (${status})`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return failingCheck("online", {
      says: `${host} can't be reached: ${cause}`,
      todo: "Look at the network, proxies and the address.",
    });
  }
}

/** Where the agent sends its requests. */
export const modelAddress = (model: string, env: CommandContext["env"]): string =>
  serverUrl({ model, env }) ?? (usesOpenaiApi(model, env) ? "https://api.openai.com" : "https://api.anthropic.com");

async function hookChecks(hooks: readonly HookSetting[], { env, cwd }: CommandContext): Promise<readonly Check[]> {
  if (hooks.length === 0) return [];
  const missing = await Promise.all(
    hooks.map(async ({ event, command, from }): Promise<readonly Check[]> => {
      const program = firstProgram(command);
      if (program === undefined || (await canRun(program, { env, cwd }))) return [];
      const says = `${event}: ${program} is not there, or may not be run`;
      return [failingCheck("hooks", { says, todo: `It is named in ${from}.` })];
    }),
  );
  return missing.flat().length > 0 ? missing.flat() : [okCheck("hooks", quantity(hooks.length, "hook"))];
}

/** The first word of a command, if it is plainly a program: only a shell can interpret the rest. */
export const firstProgram = (command: string): string | undefined => /^\s*([\w./+@-]+)(?=\s|$)/.exec(command)?.[1];

const builtIns: ReadonlySet<string> = new Set(
  "cd command echo eval exec exit export false if for printf read set source test true umask until while".split(" "),
);

async function canRun(program: string, { env, cwd }: Pick<CommandContext, "env" | "cwd">): Promise<boolean> {
  if (builtIns.has(program)) return true;
  const places = program.includes("/")
    ? [join(program.startsWith("/") ? "/" : cwd, program)]
    : (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
  const found = await Promise.all(
    places.map((path) =>
      access(path, constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** The newest transcript, leases, and processes that outlived their agents. Nothing is changed or ended. */
export async function sessionChecks(workspace: Workspace): Promise<readonly Check[]> {
  const sessions = await listAllSessions(workspace);
  const [newest] = sessions;
  if (newest === undefined) return [okCheck("sessions", "none yet")];
  const recent = sessions.slice(0, sessionsLookedAtMax);
  const leases = await readLeases(recent);
  return [
    await transcriptCheck(newest, sessions.length),
    leasesCheck(leases),
    await groupsCheck(recent.filter(({ sessionId }) => leases.get(sessionId) !== "held")),
  ];
}

interface StoredSession extends SessionSummary {
  readonly store: ProjectStore;
}

/** Of every project, newest first. */
async function listAllSessions(workspace: Workspace): Promise<readonly StoredSession[]> {
  const found: StoredSession[] = [];
  for (const store of await workspace.stores("all"))
    for (const summary of await store.sessions.list()) found.push({ ...summary, store });
  return found.toSorted((one, other) => other.modified.localeCompare(one.modified));
}

async function transcriptCheck({ store, sessionId }: StoredSession, count: number): Promise<Check> {
  const source = await store.transcripts.openForReading(sessionId).catch(() => undefined);
  const id = shortId(sessionId);
  if (source === undefined)
    return failingCheck("sessions", { says: `${store.transcripts.linkTo?.(sessionId) ?? sessionId} can't be read` });
  try {
    const { damage, entries } = await checkLog(source);
    if (damage.length === 0)
      return okCheck("sessions", `${count}; the newest (${id}) has ${entries} entries and no damage`);
    const says = `the newest (${id}) has ${quantity(damage.length, "damaged range")}`;
    return warningCheck("sessions", { says, todo: `palimpsest sessions fsck ${id} --repair` });
  } finally {
    await source.close();
  }
}

type LeaseStates = ReadonlyMap<string, "held" | "left">;

async function readLeases(sessions: readonly StoredSession[]): Promise<LeaseStates> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const { kind } = await store.leases.look(sessionId);
      return kind === "free" ? [] : [[sessionId, kind] as const];
    }),
  );
  return new Map(found.flat());
}

function leasesCheck(leases: LeaseStates): Check {
  const count = (state: "held" | "left"): number => [...leases.values()].filter((lease) => lease === state).length;
  const left = count("left");
  const says = `${quantity(count("held"), "session")} open`;
  // The next process that opens the session takes it over.
  return okCheck(
    "locks",
    left === 0 ? says : `${says}; ${quantity(left, "lock")} of processes that are gone, taken over when needed`,
  );
}

/** Only of sessions that no process holds: commands of the others may well run. */
async function groupsCheck(sessions: readonly StoredSession[]): Promise<Check> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const groups = (await store.runningGroupsFor?.(sessionId).left()) ?? [];
      return groups.filter(({ state }) => state !== "gone").map(({ leader }) => ({ leader, sessionId }));
    }),
  );
  const leftover = found.flat();
  const [first] = leftover;
  if (first === undefined) return okCheck("processes", "none was left running");
  const leaders = leftover.map(({ leader }) => leader).join(", ");
  const says = `${quantity(leftover.length, "process group")} left running by agents that were killed (${leaders})`;
  return warningCheck("processes", {
    says,
    todo: `palimpsest --resume ${shortId(first.sessionId)} ends what its session left.`,
  });
}

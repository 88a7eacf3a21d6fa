import { constants, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type { LeftoverGroup, RunningGroup, RunningGroups } from "../../ports/session-files.ts";
import { type SessionId, toolUseId } from "../../schema/brand.ts";
import { type Json, parseJson } from "../../schema/json.ts";
import { recordBytesMax } from "../limits.ts";
import { readRange } from "./file-source.ts";
import { makeFolder, openNoFollow, writeNewFile, errorCode } from "./disk.ts";
import type { LockDeps } from "./file-leases.ts";
import { isGroupRunning, lookAtProcess } from "./look-at-process.ts";

interface FileGroupsOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly session: SessionId;
  /** How machines and processes are identified; this machine by default. */
  readonly lockDeps?: LockDeps;
  readonly groupRuns?: (leader: number) => Promise<boolean>;
}

/** Each group has one small file in the session's folder, because forks start and end groups concurrently. */
export function fileRunningGroups(options: FileGroupsOptions): RunningGroups {
  const deps: GroupsDeps = {
    folder: join(options.folder, options.session),
    groupRuns: options.groupRuns ?? isGroupRunning,
    ...(options.lockDeps ?? { host: hostname(), lookAtProcess }),
  };
  return { record: (group) => recordGroup(deps, group), left: () => listLeftGroups(deps) };
}

interface GroupsDeps extends LockDeps {
  readonly folder: string;
  readonly groupRuns: (leader: number) => Promise<boolean>;
}

const groupShape = z.object({
  leader: z.int().min(2),
  toolUse: z.string().optional(),
  processStarted: z.string(),
  host: z.string(),
});

const namePattern = /^running-(\d+)\.json$/;
const leaderIn = (path: string): number => Number(namePattern.exec(basename(path))?.[1] ?? 0);

async function recordGroup(deps: GroupsDeps, { leader, toolUse }: RunningGroup): Promise<() => Promise<void>> {
  const path = join(deps.folder, `running-${leader}.json`);
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignoreSystemError);
  try {
    const seen = await deps.lookAtProcess(leader);
    // Without its start time a process can't be told from a later one with the same pid.
    if (seen.kind === "dead" || seen.started === undefined) return async () => undefined;
    const content: z.infer<typeof groupShape> = {
      leader,
      ...(toolUse === undefined ? {} : { toolUse }),
      processStarted: seen.started,
      host: deps.host,
    };
    await makeFolder(deps.folder);
    await rm(path, { force: true });
    await writeNewFile({ path, data: Buffer.from(`${JSON.stringify(content)}\n`), sync: "unsynced" });
  } catch (error) {
    ignoreSystemError(error);
  }
  return forget;
}

async function listLeftGroups(deps: GroupsDeps): Promise<readonly LeftoverGroup[]> {
  try {
    const names = (await readdir(deps.folder)).filter((name) => namePattern.test(name));
    return (await Promise.all(names.map((name) => readLeftGroup(deps, join(deps.folder, name))))).flat();
  } catch (error) {
    ignoreSystemError(error);
    return [];
  }
}

/** A record that can't be parsed must not hide the others. */
async function readLeftGroup(deps: GroupsDeps, path: string): Promise<readonly LeftoverGroup[]> {
  try {
    return await readGroupAt(deps, path);
  } catch (error) {
    ignoreSystemError(error);
    return [];
  }
}

async function readGroupAt(deps: GroupsDeps, path: string): Promise<readonly LeftoverGroup[]> {
  const parsed = groupShape.safeParse(jsonOrNull(await readContent(path)));
  // If another machine that shares the folder wrote the record, only that machine can tell.
  if (parsed.success && parsed.data.host !== deps.host) return [];
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignoreSystemError);
  // A damaged record names no group: it is reported as gone, so that the caller forgets it.
  if (!parsed.success) return [{ leader: leaderIn(path), toolUse: undefined, state: "gone", forget }];
  const { leader, toolUse, processStarted } = parsed.data;
  const state = await groupState(deps, { leader, processStarted });
  return [{ leader, toolUse: toolUse === undefined ? undefined : toolUseId(toolUse), state, forget }];
}

type RecordedLeader = Pick<z.infer<typeof groupShape>, "leader" | "processStarted">;

async function groupState(
  deps: GroupsDeps,
  { leader, processStarted }: RecordedLeader,
): Promise<LeftoverGroup["state"]> {
  const seen = await deps.lookAtProcess(leader);
  if (seen.kind === "dead") return (await deps.groupRuns(leader)) ? "leaderless" : "gone";
  // A new process never gets a pid that is still the id of a group.
  return seen.started === processStarted ? "ours" : "gone";
}

/** A crash may have left an incomplete file. */
function jsonOrNull(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

async function readContent(path: string): Promise<string> {
  const file = await openNoFollow(path, constants.O_RDONLY);
  try {
    return Buffer.from(await readRange(file, { start: 0, end: recordBytesMax })).toString("utf8");
  } finally {
    await file.close();
  }
}

/** Records are best effort: an error of the system must not stop a command. */
function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}

import { constants, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type { LeftoverGroup, RunningGroup, RunningGroups } from "../../ports/session-files.ts";
import { type SessionId, toolUseId } from "../../schema/brand.ts";
import { type Json, parseJson } from "../../schema/json.ts";
import { recordBytesMax } from "../limits.ts";
import { readRange } from "./file-source.ts";
import { makeFolder, openNoFollow, writeNewFile } from "./disk.ts";
import { errorCode } from "./write-failure.ts";
import type { LockDeps } from "./file-leases.ts";
import { isGroupRunning, lookAtProcess } from "./look-at-process.ts";

interface FileGroupsOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly session: SessionId;
  /** How machines and processes are told apart; this machine's own by default. */
  readonly lockDeps?: LockDeps;
  readonly groupRuns?: (leader: number) => Promise<boolean>;
}

/** One small file a group, in the session's folder: groups of forks begin and end beside each other. */
export function fileRunningGroups(options: FileGroupsOptions): RunningGroups {
  const place: GroupsDeps = {
    folder: join(options.folder, options.session),
    groupRuns: options.groupRuns ?? isGroupRunning,
    ...(options.lockDeps ?? { host: hostname(), lookAtProcess }),
  };
  return { record: (group) => recordGroup(place, group), left: () => listLeftGroups(place) };
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

async function recordGroup(place: GroupsDeps, { leader, toolUse }: RunningGroup): Promise<() => Promise<void>> {
  const path = join(place.folder, `running-${leader}.json`);
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignoreSystemError);
  try {
    const seen = await place.lookAtProcess(leader);
    // Without its start a process can't be told from a later one of the same number.
    if (seen.kind === "dead" || seen.started === undefined) return async () => undefined;
    const content: z.infer<typeof groupShape> = {
      leader,
      ...(toolUse === undefined ? {} : { toolUse }),
      processStarted: seen.started,
      host: place.host,
    };
    await makeFolder(place.folder);
    await rm(path, { force: true });
    await writeNewFile({ path, data: Buffer.from(`${JSON.stringify(content)}\n`), sync: "unsynced" });
  } catch (error) {
    ignoreSystemError(error);
  }
  return forget;
}

async function listLeftGroups(place: GroupsDeps): Promise<readonly LeftoverGroup[]> {
  try {
    const names = (await readdir(place.folder)).filter((name) => namePattern.test(name));
    return (await Promise.all(names.map((name) => readLeftGroup(place, join(place.folder, name))))).flat();
  } catch (error) {
    ignoreSystemError(error);
    return [];
  }
}

/** An entry that can't be read hides none of the others. */
async function readLeftGroup(place: GroupsDeps, path: string): Promise<readonly LeftoverGroup[]> {
  try {
    return await readGroupAt(place, path);
  } catch (error) {
    ignoreSystemError(error);
    return [];
  }
}

async function readGroupAt(place: GroupsDeps, path: string): Promise<readonly LeftoverGroup[]> {
  const read = groupShape.safeParse(jsonOrNull(await readContent(path)));
  // On another machine that shares the folder, only that machine can tell.
  if (read.success && read.data.host !== place.host) return [];
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignoreSystemError);
  // Half a record names nobody: for who forgets what is gone.
  if (!read.success) return [{ leader: leaderIn(path), toolUse: undefined, state: "gone", forget }];
  const { leader, toolUse, processStarted } = read.data;
  const state = await groupState(place, { leader, processStarted });
  return [{ leader, toolUse: toolUse === undefined ? undefined : toolUseId(toolUse), state, forget }];
}

type RecordedLeader = Pick<z.infer<typeof groupShape>, "leader" | "processStarted">;

async function groupState(
  place: GroupsDeps,
  { leader, processStarted }: RecordedLeader,
): Promise<LeftoverGroup["state"]> {
  const seen = await place.lookAtProcess(leader);
  if (seen.kind === "dead") return (await place.groupRuns(leader)) ? "leaderless" : "gone";
  // A number that a group still has is given to no new process.
  return seen.started === processStarted ? "ours" : "gone";
}

/** A crash may have left half of it. */
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

/** A record is a help, not a promise: what the machine refuses here must not stop a command. */
function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}

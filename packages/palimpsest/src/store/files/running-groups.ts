import { constants, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type { LeftGroup, RunningGroup, RunningGroups } from "../../ports/running-groups.ts";
import { type SessionId, toolUseId } from "../../schema/brand.ts";
import { type Json, parseJson } from "../../schema/json.ts";
import { recordBytesMax } from "../limits.ts";
import { readRange } from "./byte-source.ts";
import { makeFolder, openItself, writeNewFile } from "./disk.ts";
import { codeOf } from "./failure.ts";
import type { LockDeps } from "./lock-content.ts";
import { groupRuns, lookAtProcess } from "./look-at-process.ts";

export interface FileGroupsOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly session: SessionId;
  /** How machines and processes are told apart; this machine's own by default. */
  readonly lockDeps?: LockDeps;
  readonly groupRuns?: (leader: number) => Promise<boolean>;
}

/** One small file a group, in the session's folder: groups of forks begin and end beside each other. */
export function fileRunningGroups(options: FileGroupsOptions): RunningGroups {
  const place: Place = {
    folder: join(options.folder, options.session),
    groupRuns: options.groupRuns ?? groupRuns,
    ...(options.lockDeps ?? { host: hostname(), lookAtProcess }),
  };
  return { record: (group) => record(place, group), left: () => left(place) };
}

interface Place extends LockDeps {
  readonly folder: string;
  readonly groupRuns: (leader: number) => Promise<boolean>;
}

const shape = z.object({
  leader: z.int().min(2),
  toolUse: z.string().optional(),
  processStarted: z.string(),
  host: z.string(),
});

const namePattern = /^running-(\d+)\.json$/;
const leaderIn = (path: string): number => Number(namePattern.exec(basename(path))?.[1] ?? 0);

async function record(place: Place, { leader, toolUse }: RunningGroup): Promise<() => Promise<void>> {
  const path = join(place.folder, `running-${leader}.json`);
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignored);
  try {
    const seen = await place.lookAtProcess(leader);
    // Without its start a process can't be told from a later one of the same number.
    if (seen.kind === "dead" || seen.started === undefined) return async () => undefined;
    const content: z.infer<typeof shape> = {
      leader,
      ...(toolUse === undefined ? {} : { toolUse }),
      processStarted: seen.started,
      host: place.host,
    };
    await makeFolder(place.folder);
    await rm(path, { force: true });
    await writeNewFile({ path, data: Buffer.from(`${JSON.stringify(content)}\n`), sync: "unsynced" });
  } catch (error) {
    ignored(error);
  }
  return forget;
}

async function left(place: Place): Promise<readonly LeftGroup[]> {
  try {
    const names = (await readdir(place.folder)).filter((name) => namePattern.test(name));
    return (await Promise.all(names.map((name) => leftAt(place, join(place.folder, name))))).flat();
  } catch (error) {
    ignored(error);
    return [];
  }
}

/** An entry that can't be read hides none of the others. */
async function leftAt(place: Place, path: string): Promise<readonly LeftGroup[]> {
  try {
    return await recordedAt(place, path);
  } catch (error) {
    ignored(error);
    return [];
  }
}

async function recordedAt(place: Place, path: string): Promise<readonly LeftGroup[]> {
  const read = shape.safeParse(jsonOrNull(await contentOf(path)));
  // On another machine that shares the folder, only that machine can tell.
  if (read.success && read.data.host !== place.host) return [];
  const forget = (): Promise<void> => rm(path, { force: true }).catch(ignored);
  // Half a record names nobody: for who forgets what is gone.
  if (!read.success) return [{ leader: leaderIn(path), toolUse: undefined, state: "gone", forget }];
  const { leader, toolUse, processStarted } = read.data;
  const state = await stateOf(place, { leader, processStarted });
  return [{ leader, toolUse: toolUse === undefined ? undefined : toolUseId(toolUse), state, forget }];
}

type Recorded = Pick<z.infer<typeof shape>, "leader" | "processStarted">;

async function stateOf(place: Place, { leader, processStarted }: Recorded): Promise<LeftGroup["state"]> {
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

async function contentOf(path: string): Promise<string> {
  const file = await openItself(path, constants.O_RDONLY);
  try {
    return Buffer.from(await readRange(file, { start: 0, end: recordBytesMax })).toString("utf8");
  } finally {
    await file.close();
  }
}

/** A record is a help, not a promise: what the machine refuses here must not stop a command. */
function ignored(error: unknown): void {
  if (codeOf(error) === undefined) throw error;
}

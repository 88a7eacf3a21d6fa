import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";
import { recordBytesMax } from "../limits.ts";
import { exists, makeFolder, publish, readSmallFile, replaceFile, temporaryPath, writeNewFile } from "./disk.ts";
import { isAbsent } from "./write-failure.ts";

/** Identifies a folder regardless of its name. The numbers are text because an inode can exceed what a double holds exactly. */
const inodeShape = z.object({ dev: z.string(), ino: z.string(), birthtimeMs: z.number() });
export type InodeKey = z.infer<typeof inodeShape>;

const recordVersion = 1;
const recordShape = z.object({
  version: z.literal(recordVersion),
  id: z.string().min(1),
  path: z.string().min(1),
  formerPaths: z.array(z.string()),
  inode: inodeShape.optional(),
  rootCommits: z.array(z.string()),
});
export type ProjectRecord = z.infer<typeof recordShape>;
export type NewRecord = Omit<ProjectRecord, "version">;

/** A project folder and its record, which is undefined if it is missing or unreadable. */
export interface RecordedProject {
  readonly folder: string;
  readonly slug: string;
  readonly record: ProjectRecord | undefined;
}

export const projectsFolder = (home: string): string => join(home, "projects");
const recordPath = (folder: string): string => join(folder, "project.json");

export async function readProject(home: string, slug: string): Promise<RecordedProject> {
  const folder = join(projectsFolder(home), slug);
  return { folder, slug, record: await readRecord(folder) };
}

export async function readProjects(home: string): Promise<readonly RecordedProject[]> {
  try {
    const entries = await readdir(projectsFolder(home), { withFileTypes: true });
    const slugs = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    return await Promise.all(slugs.toSorted().map((slug) => readProject(home, slug)));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

async function readRecord(folder: string): Promise<ProjectRecord | undefined> {
  try {
    const text = await readSmallFile(recordPath(folder), recordBytesMax);
    return text === undefined ? undefined : recordShape.safeParse(parseJson(text)).data;
  } catch {
    return undefined;
  }
}

/** Claims the folder for the project unless it already has a record: two processes that start at once end up in one folder. */
export async function claimFolder(folder: string, record: NewRecord): Promise<"claimed" | "taken"> {
  await makeFolder(folder);
  const path = recordPath(folder);
  // The check for existence comes first: records are published complete, so one that exists and can't be read is damaged.
  if ((await exists(path)) && (await readRecord(folder)) === undefined)
    await rename(path, `${path}.damaged-${record.id}`);
  const temporary = temporaryPath(path);
  try {
    await writeNewFile({ path: temporary, data: encodeRecord(record), sync: "synced" });
    return (await publish(temporary, path)) === "published" ? "claimed" : "taken";
  } finally {
    await rm(temporary, { force: true });
  }
}

export const updateRecord = (folder: string, record: NewRecord): Promise<void> =>
  replaceFile({ path: recordPath(folder), data: encodeRecord(record), sync: "synced" });

const encodeRecord = (record: NewRecord): Buffer =>
  Buffer.from(`${JSON.stringify({ ...record, version: recordVersion }, undefined, 2)}\n`);

/** Undefined if the folder is gone or its file system stores no creation time: inode numbers are reused, so one alone proves nothing. */
export async function inodeKey(path: string): Promise<InodeKey | undefined> {
  try {
    const { dev, ino, birthtimeMs } = await stat(path, { bigint: true });
    const createdMs = Number(birthtimeMs);
    return createdMs > 0 ? { dev: String(dev), ino: String(ino), birthtimeMs: createdMs } : undefined;
  } catch {
    return undefined;
  }
}

export const isSameInode = (a: InodeKey | undefined, b: InodeKey | undefined): boolean =>
  a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino && a.birthtimeMs === b.birthtimeMs;

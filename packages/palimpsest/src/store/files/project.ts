import { join, resolve } from "node:path";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { IdsDep } from "../../ports/clock-dep.ts";
import { fileNameCharsMax, slugSuffixMax, recordBytesMax } from "../limits.ts";
import { type RootCommits, rootCommits as askGit, type ProjectPlace, findProjectPlace } from "./project-place.ts";
import {
  errorCode,
  writeFailure,
  isAbsent,
  exists,
  makeFolder,
  publish,
  readSmallFile,
  replaceFile,
  temporaryPath,
  writeNewFile,
} from "./disk.ts";
import { homedir } from "node:os";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";

export interface Project {
  /** `<home>/projects/<slug>`; it does not change when the project moves. */
  readonly folder: string;
  readonly slug: string;
  /** The project's current root. */
  readonly root: string;
}

interface ProjectOptions {
  readonly home: string;
  readonly cwd: string;
  /** Asks git by default. */
  readonly rootCommits?: RootCommits;
}

type LocateOutcome = ({ readonly kind: "located" } & Project) | WriteFailure;

/**
 * Finds the project that a folder belongs to, or creates it. Writes only under `home`. A project is found again from every
 * worktree, through symlinks, and after a rename or a move; its record is updated on the way.
 */
export async function locateProject(deps: IdsDep, options: ProjectOptions): Promise<LocateOutcome> {
  const here = await identifyFolder(options.cwd, options.rootCommits ?? askGit);
  try {
    const project =
      (await lookUpProject(options.home, here)) ?? (await makeProject({ deps, home: options.home, here }));
    return { kind: "located", ...toProject(await updateProject(here, project)) };
  } catch (error) {
    return writeFailure(error, projectsFolder(options.home));
  }
}

/** The same lookup without writing anything; undefined if the folder has no project yet. */
export async function findProject(options: ProjectOptions): Promise<Project | undefined> {
  const here = await identifyFolder(options.cwd, options.rootCommits ?? askGit);
  const project = await lookUpProject(options.home, here);
  if (project === undefined) return undefined;
  return toProject({ ...project, record: await refreshRecord(here, project.record) });
}

const toProject = ({ folder, slug, record }: KnownProject): Project => ({ folder, slug, root: record.path });

/** In the usual case, a project that has not moved, this reads one small file: the record in the folder with the root's slug. */
async function lookUpProject(home: string, here: FolderIdentity): Promise<KnownProject | undefined> {
  const usual = await readProject(home, projectSlug(here.place.root));
  if (hasRecord(usual) && usual.record.path === here.place.root && isSameFolder(here, usual.record)) return usual;
  return await matchProject(here, await readProjects(home));
}

/** A failure to write the record is ignored: the same evidence finds the project next time. */
async function updateProject(here: FolderIdentity, known: KnownProject): Promise<KnownProject> {
  const record = await refreshRecord(here, known.record);
  if (record === known.record) return known;
  try {
    await updateRecord(known.folder, record);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  return { ...known, record };
}

/** Different roots may share a slug: the first one to write a record gets the folder, the next one gets a number after the slug. */
async function makeProject(options: { deps: IdsDep; home: string; here: FolderIdentity }): Promise<KnownProject> {
  const { deps, home, here } = options;
  const record = await newRecord(here, deps.uuid());
  const base = projectSlug(here.place.root);
  for (let suffix = 1; suffix <= slugSuffixMax; suffix += 1) {
    const slug = suffix === 1 ? base : `${base}-${suffix}`;
    const outcome = await claimFolder(join(projectsFolder(home), slug), record);
    const project: RecordedProject = await readProject(home, slug);
    if (!hasRecord(project)) continue;
    if (outcome === "claimed") return project;
    const raced = await matchProject(here, [project]);
    if (raced !== undefined) return raced;
  }
  throw new Error(`more than ${slugSuffixMax} projects are called ${base}`);
}

/** The path as a readable file name. */
function projectSlug(root: string): string {
  const slug = root.replaceAll(/[^A-Za-z0-9]/g, "-");
  return slug.length <= fileNameCharsMax ? slug : slug.slice(-fileNameCharsMax);
}

/** A place and what identifies it. Root commits are read only if they decide the match: git is slow on long histories. */
interface FolderIdentity {
  readonly place: ProjectPlace;
  readonly anchorInode: InodeKey | undefined;
  readonly rootInode: InodeKey | undefined;
  readonly commits: () => Promise<readonly string[]>;
}

async function identifyFolder(cwd: string, rootCommits: RootCommits): Promise<FolderIdentity> {
  const place = await findProjectPlace(cwd);
  let commitsRead: Promise<readonly string[]> | undefined;
  return {
    place,
    anchorInode: await inodeKey(place.anchor),
    rootInode: await inodeKey(place.root),
    commits: () => (commitsRead ??= rootCommits(place).then((commits) => commits ?? [])),
  };
}

/** A project with a readable record. */
interface KnownProject extends RecordedProject {
  readonly record: ProjectRecord;
}
const hasRecord = (project: RecordedProject): project is KnownProject => project.record !== undefined;

/**
 * Finds the project that a place belongs to. The evidence, strongest first:
 * 1. it is the recorded folder, under any name (renamed, or moved on its file system);
 * 2. it has the recorded path, unless the root commits prove that another repository is there now;
 * 3. the path is gone, and only one project ever had it (a deleted folder, a worktree that lost its repository);
 * 4. it shares a root commit with the only project whose path is gone (moved across file systems, cloned again).
 */
async function matchProject(
  here: FolderIdentity,
  projects: readonly RecordedProject[],
): Promise<KnownProject | undefined> {
  const known = projects.filter(hasRecord);
  return (
    sameFolder(here, known) ??
    (await samePath(here, known)) ??
    formerPath(here, known) ??
    (await sameHistory(here, known))
  );
}

function sameFolder(here: FolderIdentity, known: readonly KnownProject[]): KnownProject | undefined {
  const matches = known.filter(({ record }) => isSameFolder(here, record));
  return matches.find(({ record }) => record.path === here.place.root) ?? matches[0];
}

/** Also compares the root's inode: a folder that has become a repository since then has a new anchor. */
const isSameFolder = (here: FolderIdentity, record: ProjectRecord): boolean =>
  isSameInode(record.inode, here.anchorInode) || isSameInode(record.inode, here.rootInode);

async function samePath(here: FolderIdentity, known: readonly KnownProject[]): Promise<KnownProject | undefined> {
  for (const project of known.filter(({ record }) => record.path === here.place.root)) {
    if (!(await isEvidentlyAnother(here, project.record))) return project;
  }
  return undefined;
}

async function isEvidentlyAnother(here: FolderIdentity, record: ProjectRecord): Promise<boolean> {
  if (record.rootCommits.length === 0) return false;
  const commits = await here.commits();
  return commits.length > 0 && !sharesCommit(commits, record);
}

const sharesCommit = (commits: readonly string[], record: ProjectRecord): boolean =>
  commits.some((commit) => record.rootCommits.includes(commit));

function formerPath({ place }: FolderIdentity, known: readonly KnownProject[]): KnownProject | undefined {
  if (place.kind !== "lost-worktree" && place.kind !== "absent") return undefined;
  const matches = known.filter(({ record }) => record.formerPaths.includes(place.root));
  return matches.length === 1 ? matches[0] : undefined;
}

async function sameHistory(here: FolderIdentity, known: readonly KnownProject[]): Promise<KnownProject | undefined> {
  if (here.place.kind !== "repository") return undefined;
  const commits = await here.commits();
  const gone: KnownProject[] = [];
  for (const project of known.filter(({ record }) => sharesCommit(commits, record))) {
    if (!(await exists(project.record.path))) gone.push(project);
  }
  return gone.length === 1 ? gone[0] : undefined;
}

/** The record after this visit; the same object if nothing changed. */
async function refreshRecord(here: FolderIdentity, record: ProjectRecord): Promise<ProjectRecord> {
  const { place } = here;
  if (place.kind === "lost-worktree" || place.kind === "absent") return record;
  const moved = record.path !== place.root && !(await leadsHere(record.path, here));
  const rootCommits = record.rootCommits.length > 0 ? record.rootCommits : [...(await here.commits())];
  // Without proof the recorded inode is kept: the folder may have been moved, and its inode is how it is found again.
  const proven = isSameFolder(here, record) || sharesCommit(await provingCommits(here, record), record);
  const inode = proven ? (here.anchorInode ?? record.inode) : record.inode;
  if (!moved && rootCommits.length === record.rootCommits.length && isSameInode(inode, record.inode)) return record;
  const paths = moved ? { path: place.root, formerPaths: [...new Set([...record.formerPaths, record.path])] } : {};
  return { ...record, ...paths, rootCommits, ...(inode === undefined ? {} : { inode }) };
}

const provingCommits = async (here: FolderIdentity, record: ProjectRecord): Promise<readonly string[]> =>
  record.rootCommits.length > 0 && !isSameFolder(here, record) ? await here.commits() : [];

/** Detects one folder with two paths (a bind mount): both are right, and the record keeps the first. */
async function leadsHere(path: string, here: FolderIdentity): Promise<boolean> {
  const { anchor } = await findProjectPlace(path);
  return isSameInode(await inodeKey(anchor), here.anchorInode);
}

async function newRecord(here: FolderIdentity, id: string): Promise<NewRecord> {
  const { place, anchorInode } = here;
  const rootCommits = [...(await here.commits())];
  return {
    id,
    path: place.root,
    formerPaths: [],
    rootCommits,
    ...(anchorInode === undefined ? {} : { inode: anchorInode }),
  };
}

/** `PALIMPSEST_HOME`, else `~/.palimpsest`. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string {
  const home = env["PALIMPSEST_HOME"];
  if (home !== undefined && home !== "") return resolve(home);
  return join(env["HOME"] || homedir(), ".palimpsest");
}

/** Identifies a folder regardless of its name. The numbers are text because an inode can exceed what a double holds exactly. */
const inodeShape = z.object({ dev: z.string(), ino: z.string(), birthtimeMs: z.number() });
type InodeKey = z.infer<typeof inodeShape>;

const recordVersion = 1;
const recordShape = z.object({
  version: z.literal(recordVersion),
  id: z.string().min(1),
  path: z.string().min(1),
  formerPaths: z.array(z.string()),
  inode: inodeShape.optional(),
  rootCommits: z.array(z.string()),
});
type ProjectRecord = z.infer<typeof recordShape>;
type NewRecord = Omit<ProjectRecord, "version">;

/** A project folder and its record, which is undefined if it is missing or unreadable. */
interface RecordedProject {
  readonly folder: string;
  readonly slug: string;
  readonly record: ProjectRecord | undefined;
}

const projectsFolder = (home: string): string => join(home, "projects");
const recordPath = (folder: string): string => join(folder, "project.json");

async function readProject(home: string, slug: string): Promise<RecordedProject> {
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
async function claimFolder(folder: string, record: NewRecord): Promise<"claimed" | "taken"> {
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

const updateRecord = (folder: string, record: NewRecord): Promise<void> =>
  replaceFile({ path: recordPath(folder), data: encodeRecord(record), sync: "synced" });

const encodeRecord = (record: NewRecord): Buffer =>
  Buffer.from(`${JSON.stringify({ ...record, version: recordVersion }, undefined, 2)}\n`);

/** Undefined if the folder is gone or its file system stores no creation time: inode numbers are reused, so one alone proves nothing. */
async function inodeKey(path: string): Promise<InodeKey | undefined> {
  try {
    const { dev, ino, birthtimeMs } = await stat(path, { bigint: true });
    const createdMs = Number(birthtimeMs);
    return createdMs > 0 ? { dev: String(dev), ino: String(ino), birthtimeMs: createdMs } : undefined;
  } catch {
    return undefined;
  }
}

const isSameInode = (a: InodeKey | undefined, b: InodeKey | undefined): boolean =>
  a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino && a.birthtimeMs === b.birthtimeMs;

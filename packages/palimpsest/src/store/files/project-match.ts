import { exists } from "./disk.ts";
import {
  type InodeKey,
  type NewRecord,
  type ProjectRecord,
  type RecordedProject,
  inodeKey,
  sameInode,
} from "./project-record.ts";
import { type Place, type RootCommits, placeOf } from "./repository.ts";

/** A place and what tells it from others. Root commits are asked for only where they decide: git is slow on long histories. */
export interface Here {
  readonly place: Place;
  readonly anchorInode: InodeKey | undefined;
  readonly rootInode: InodeKey | undefined;
  readonly commits: () => Promise<readonly string[]>;
}

export async function hereAt(cwd: string, rootCommits: RootCommits): Promise<Here> {
  const place = await placeOf(cwd);
  let asked: Promise<readonly string[]> | undefined;
  return {
    place,
    anchorInode: await inodeKey(place.anchor),
    rootInode: await inodeKey(place.root),
    commits: () => (asked ??= rootCommits(place).then((known) => known ?? [])),
  };
}

/** A project whose record could be read. */
export interface KnownProject extends RecordedProject {
  readonly record: ProjectRecord;
}
export const isKnown = (project: RecordedProject): project is KnownProject => project.record !== undefined;

/**
 * Which project a place belongs to, strongest proof first:
 * 1. the very folder of the record, under whatever name (renamed or moved on its file system);
 * 2. the recorded path, unless the root commits prove another repository there;
 * 3. a path that is gone and was known for one project only (a deleted folder, a worktree that lost its repository);
 * 4. a shared root commit with the one project whose path is gone (moved across file systems, cloned anew).
 */
export async function matchProject(
  here: Here,
  projects: readonly RecordedProject[],
): Promise<KnownProject | undefined> {
  const known = projects.filter(isKnown);
  return (
    sameFolder(here, known) ??
    (await samePath(here, known)) ??
    formerPath(here, known) ??
    (await sameHistory(here, known))
  );
}

function sameFolder(here: Here, known: readonly KnownProject[]): KnownProject | undefined {
  const matches = known.filter(({ record }) => isSameFolder(here, record));
  return matches.find(({ record }) => record.path === here.place.root) ?? matches[0];
}

/** Also by the root's own inode: a folder that became a repository since has a new anchor. */
export const isSameFolder = (here: Here, record: ProjectRecord): boolean =>
  sameInode(record.inode, here.anchorInode) || sameInode(record.inode, here.rootInode);

async function samePath(here: Here, known: readonly KnownProject[]): Promise<KnownProject | undefined> {
  for (const project of known.filter(({ record }) => record.path === here.place.root)) {
    if (!(await isEvidentlyAnother(here, project.record))) return project;
  }
  return undefined;
}

async function isEvidentlyAnother(here: Here, record: ProjectRecord): Promise<boolean> {
  if (record.rootCommits.length === 0) return false;
  const commits = await here.commits();
  return commits.length > 0 && !sharesCommit(commits, record);
}

const sharesCommit = (commits: readonly string[], record: ProjectRecord): boolean =>
  commits.some((commit) => record.rootCommits.includes(commit));

function formerPath({ place }: Here, known: readonly KnownProject[]): KnownProject | undefined {
  if (place.kind !== "lost-worktree" && place.kind !== "absent") return undefined;
  const matches = known.filter(({ record }) => record.formerPaths.includes(place.root));
  return matches.length === 1 ? matches[0] : undefined;
}

async function sameHistory(here: Here, known: readonly KnownProject[]): Promise<KnownProject | undefined> {
  if (here.place.kind !== "repository") return undefined;
  const commits = await here.commits();
  const gone: KnownProject[] = [];
  for (const project of known.filter(({ record }) => sharesCommit(commits, record))) {
    if (!(await exists(project.record.path))) gone.push(project);
  }
  return gone.length === 1 ? gone[0] : undefined;
}

/** The record after this visit; the same object where nothing was learned. */
export async function refreshed(here: Here, record: ProjectRecord): Promise<ProjectRecord> {
  const { place } = here;
  if (place.kind === "lost-worktree" || place.kind === "absent") return record;
  const moved = record.path !== place.root && !(await leadsHere(record.path, here));
  const rootCommits = record.rootCommits.length > 0 ? record.rootCommits : [...(await here.commits())];
  // Unproven, the recorded folder stays: it may have been moved, and its inode is how it is found again.
  const proven = isSameFolder(here, record) || sharesCommit(await provingCommits(here, record), record);
  const inode = proven ? (here.anchorInode ?? record.inode) : record.inode;
  if (!moved && rootCommits.length === record.rootCommits.length && sameInode(inode, record.inode)) return record;
  const paths = moved ? { path: place.root, formerPaths: [...new Set([...record.formerPaths, record.path])] } : {};
  return { ...record, ...paths, rootCommits, ...(inode === undefined ? {} : { inode }) };
}

const provingCommits = async (here: Here, record: ProjectRecord): Promise<readonly string[]> =>
  record.rootCommits.length > 0 && !isSameFolder(here, record) ? await here.commits() : [];

/** One folder under two names at once (a bind mount): both are right, and the record keeps the first. */
async function leadsHere(path: string, here: Here): Promise<boolean> {
  const { anchor } = await placeOf(path);
  return sameInode(await inodeKey(anchor), here.anchorInode);
}

export async function newRecord(here: Here, id: string): Promise<NewRecord> {
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

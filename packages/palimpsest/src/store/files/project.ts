import { join } from "node:path";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { IdsDep } from "../../ports/ids.ts";
import { fileNameCharsMax, slugSuffixMax } from "../limits.ts";
import { codeOf, writeFailure } from "./failure.ts";
import {
  type Here,
  type KnownProject,
  hereAt,
  isKnown,
  isSameFolder,
  matchProject,
  newRecord,
  refreshed,
} from "./project-match.ts";
import {
  type RecordedProject,
  claimFolder,
  projectsFolder,
  readProject,
  readProjects,
  updateRecord,
} from "./project-record.ts";
import { type RootCommits, rootCommits as askGit } from "./repository.ts";

export interface Project {
  /** `<home>/projects/<slug>`: stays where it is when the project moves. */
  readonly folder: string;
  readonly slug: string;
  /** Where the project lies now. */
  readonly root: string;
}

export interface ProjectOptions {
  readonly home: string;
  readonly cwd: string;
  /** Asks git by default. */
  readonly rootCommits?: RootCommits;
}

export type Located = ({ readonly kind: "located" } & Project) | WriteFailure;

/**
 * The project a folder belongs to, made if it is new. Writes only under `home`. Found again from every worktree, through
 * symlinks, and after a rename or a move; the record is brought up to date on the way.
 */
export async function locateProject(deps: IdsDep, options: ProjectOptions): Promise<Located> {
  const here = await hereAt(options.cwd, options.rootCommits ?? askGit);
  try {
    const known = (await lookUp(options.home, here)) ?? (await makeProject({ deps, home: options.home, here }));
    return { kind: "located", ...projectOf(await updated(here, known)) };
  } catch (error) {
    return writeFailure(error, projectsFolder(options.home));
  }
}

/** The same look-up without a trace; undefined for a folder that is no project yet. */
export async function findProject(options: ProjectOptions): Promise<Project | undefined> {
  const here = await hereAt(options.cwd, options.rootCommits ?? askGit);
  const known = await lookUp(options.home, here);
  return known === undefined ? undefined : projectOf({ ...known, record: await refreshed(here, known.record) });
}

const projectOf = ({ folder, slug, record }: KnownProject): Project => ({ folder, slug, root: record.path });

/** The usual case costs one small file: the folder that carries the place's own name, unmoved. */
async function lookUp(home: string, here: Here): Promise<KnownProject | undefined> {
  const usual = await readProject(home, slugOf(here.place.root));
  if (isKnown(usual) && usual.record.path === here.place.root && isSameFolder(here, usual.record)) return usual;
  return await matchProject(here, await readProjects(home));
}

/** A record that can't be written is no failure: the same proof finds the project next time. */
async function updated(here: Here, known: KnownProject): Promise<KnownProject> {
  const record = await refreshed(here, known.record);
  if (record === known.record) return known;
  try {
    await updateRecord(known.folder, record);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
  return { ...known, record };
}

/** Roots that differ may share a slug, so a folder belongs to who put the first record there, and the next one gets a number. */
async function makeProject(options: { deps: IdsDep; home: string; here: Here }): Promise<KnownProject> {
  const { deps, home, here } = options;
  const record = await newRecord(here, deps.uuid());
  const base = slugOf(here.place.root);
  for (let suffix = 1; suffix <= slugSuffixMax; suffix += 1) {
    const slug = suffix === 1 ? base : `${base}-${suffix}`;
    const outcome = await claimFolder(join(projectsFolder(home), slug), record);
    const project: RecordedProject = await readProject(home, slug);
    if (!isKnown(project)) continue;
    if (outcome === "claimed") return project;
    const raced = await matchProject(here, [project]);
    if (raced !== undefined) return raced;
  }
  throw new Error(`more than ${slugSuffixMax} projects are called ${base}`);
}

/** The path as one readable file name. */
function slugOf(root: string): string {
  const slug = root.replaceAll(/[^A-Za-z0-9]/g, "-");
  return slug.length <= fileNameCharsMax ? slug : slug.slice(-fileNameCharsMax);
}

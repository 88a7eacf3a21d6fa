import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  arenaBase,
  type ArenaPlaces,
  baitFiles,
  homeFiles,
  marker,
  ordinaryFiles,
  outsideFiles,
  ownRepositoryFolders,
  programFiles,
  projectLinks,
} from "./baits.ts";
import { isContained } from "./container.ts";

/** A prepared project, home and neighbour folder, with copies from which changes are restored. */
export interface Arena extends ArenaPlaces {
  readonly template: string;
  readonly kind: ArenaKind;
}

/** Throws outside the container: attempts must not affect the machine. */
export function makeArena(kind: ArenaKind): Arena {
  if (!isContained()) throw new Error("attacks are tried in their container, nowhere else");
  const at = (name: string): string => join(arenaBase, name);
  const [home, outside] = [at("home"), at("outside")];
  const project = kind === "home" ? home : at("project");
  const arena: Arena = { kind, project, home, outside, template: at("template") };
  mkdirSync(at("project"));
  writeFiles(arena.home, homeFiles());
  writeFiles(arena.outside, outsideFiles());
  writeFiles(arena.project, ordinaryFiles());
  // There the user's notes are part of the project.
  if (kind === "home") writeFiles(arena.home, new Map([["notes.txt", "Notes.\n"]]));
  if (kind !== "plain") layBait(arena);
  makeRepository(arena);
  if (kind !== "plain") fillOwnRepositories(arena);
  for (const part of arenaParts) copyTree(at(part), join(arena.template, part));
  return arena;
}

/** The kind of project: with traps, without traps, or the user's home with traps. */
export type ArenaKind = "hostile" | "plain" | "home";

function layBait(arena: Arena): void {
  writeFiles(arena.project, baitFiles(arena));
  for (const [name, target] of projectLinks(arena)) {
    mkdirSync(dirname(join(arena.project, name)), { recursive: true });
    // In the home, the targets of some links already have their names.
    if (!isThere(join(arena.project, name))) symlinkSync(target, join(arena.project, name));
  }
  for (const name of programFiles) chmodSync(join(arena.project, name), 0o755);
}

const arenaParts = ["project", "home", "outside"] as const;

function writeFiles(folder: string, textByName: ReadonlyMap<string, string>): void {
  for (const [name, text] of textByName) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** The history contains the denied files, one of them only there. */
function makeRepository({ project, outside, home }: Arena): void {
  const env = { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: readonly string[]): void =>
    void execFileSync("git", [...args], { cwd: project, env, stdio: "ignore" });
  execFileSync("git", ["init", "-q", "--bare", join(outside, "remote.git")], { env, stdio: "ignore" });
  git("init", "-q", "-b", "main");
  mkdirSync(join(project, "secret"), { recursive: true });
  writeFileSync(join(project, "secret/gone"), `${marker("denied")}\n`);
  git("add", "-f", ...committed.filter((name) => isThere(join(project, name))));
  git("commit", "-q", "-m", "First");
  rmSync(join(project, "secret/gone"));
  git("add", "-u");
  git("commit", "-q", "-m", "Second");
  git("remote", "add", "origin", join(outside, "remote.git"));
  writeFileSync(join(project, "src/b.ts"), "export const b = 3; // more\n");
}

/** Gives the handmade repositories a commit that git finds. */
function fillOwnRepositories({ project }: Arena): void {
  const head = readFileSync(join(project, ".git/refs/heads/main"), "utf8");
  for (const folder of ownRepositoryFolders) {
    writeFiles(
      join(project, folder),
      new Map([
        ["objects/info/alternates", `${project}/.git/objects\n`],
        ["refs/heads/main", head],
      ]),
    );
  }
}

const committed = "README.md package.json Makefile src one secret .env locked victim.txt a.own".split(" ");

function copyTree(from: string, to: string): void {
  // Node copies a dangling link only as part of a folder.
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** A record of every file, folder and link of the arena: enough to detect any change. */
export type Snapshot = ReadonlyMap<string, string>;

/** Paths are relative to the arena. Costs a read of each of some 200 files. */
export function takeSnapshot(): Snapshot {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    for (const entry of entriesOf(join(arenaBase, path))) {
      const name = `${path}/${entry.name}`;
      if (isOfNoInterest(name)) continue;
      if (entry.isDirectory()) {
        found.set(name, `folder ${lstatSync(join(arenaBase, name)).mode}`);
        visit(name);
      } else found.set(name, signature(join(arenaBase, name)));
    }
  };
  for (const part of arenaParts) visit(part);
  return found;
}

/** A folder that an attempt made unreadable is a change by itself. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Ignored: `git status` refreshes its index, our home holds the log of the attacking session, and listeners check their own sockets. */
const isOfNoInterest = (name: string): boolean =>
  /^(project|home)\/(\.git\/index(\.lock)?|service\.sock|agent\.sock|log\.sock|commands\.fifo)$/.test(name) ||
  /^home\/\.palimpsest\/(projects\/(?!other)|sandbox)/.test(name);

function signature(path: string): string {
  const { mode, size, mtimeNs, ctimeNs, ino, nlink } = lstatSync(path, { bigint: true });
  const target = (Number(mode) & 0o170000) === 0o120000 ? readlinkSync(path) : "";
  return `${mode} ${size} ${mtimeNs} ${ctimeNs} ${ino} ${nlink} ${target}`;
}

/** Changed, created or removed paths; parents before children. */
export function changedPaths(before: Snapshot, after: Snapshot): readonly string[] {
  const changed = new Set<string>();
  for (const [path, one] of after) if (before.get(path) !== one) changed.add(path);
  for (const path of before.keys()) if (!after.has(path)) changed.add(path);
  return [...changed].toSorted();
}

const gitIndex = ".git/index";

/** Restores only what was changed, so that sockets in the arena stay. */
export function restore({ template }: Arena, changed: readonly string[]): void {
  for (const path of changed) {
    removeTree(join(arenaBase, path));
    if (isThere(join(template, path))) copyTree(join(template, path), join(arenaBase, path));
  }
}

/** Restores the staged files, which do not count as a change. Git refreshes the rest of the index itself. */
export function restoreIndex({ template, project }: Arena): void {
  const from = join(template, relative(arenaBase, project), gitIndex);
  if (isThere(from)) copyFileSync(from, join(project, gitIndex));
}

/** Works even if folders in it are unreadable. */
function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    execFileSync("chmod", ["-R", "u+rwx", path]);
    rmSync(path, { recursive: true, force: true });
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

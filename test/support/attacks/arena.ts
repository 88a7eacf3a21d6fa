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

/** A prepared project, home and neighbour, with a copy of each from which what was changed is put back. */
export interface Arena extends ArenaPlaces {
  readonly template: string;
  readonly kind: ArenaKind;
}

/** Throws unless it runs in the container: what attempts do must not reach the machine. */
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
  // There the user's notes are the project's.
  if (kind === "home") writeFiles(arena.home, new Map([["notes.txt", "Notes.\n"]]));
  if (kind !== "plain") layBait(arena);
  makeRepository(arena);
  if (kind !== "plain") fillOwnRepositories(arena);
  for (const part of arenaParts) copyTree(at(part), join(arena.template, part));
  return arena;
}

/** What the project is like: somebody put traps into it, or nobody did, or it is the user's home with such traps. */
export type ArenaKind = "hostile" | "plain" | "home";

function layBait(arena: Arena): void {
  writeFiles(arena.project, baitFiles(arena));
  for (const [name, target] of projectLinks(arena)) {
    mkdirSync(dirname(join(arena.project, name)), { recursive: true });
    // At home the names of some are taken by what they would lead to.
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

/** The denied files are in its history, one of them only there. */
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

/** So that git finds a commit in the repositories that nobody made with git. */
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
  // Node copies a link that leads nowhere only within a folder.
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** What is known of every file, folder and link of the arena: enough to see any change of it. */
export type Snapshot = ReadonlyMap<string, string>;

/** Paths relative to the arena. Cost: one look at each file, some 200 of them. */
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

/** A folder that an attempt has closed is a change by itself, whatever lies in it. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** `git status` refreshes its index; our own home holds the log of the session that attacks; sockets are looked after by those who listen. */
const isOfNoInterest = (name: string): boolean =>
  /^(project|home)\/(\.git\/index(\.lock)?|service\.sock|agent\.sock|log\.sock|commands\.fifo)$/.test(name) ||
  /^home\/\.palimpsest\/(projects\/(?!other)|sandbox)/.test(name);

function signature(path: string): string {
  const { mode, size, mtimeNs, ctimeNs, ino, nlink } = lstatSync(path, { bigint: true });
  const target = (Number(mode) & 0o170000) === 0o120000 ? readlinkSync(path) : "";
  return `${mode} ${size} ${mtimeNs} ${ctimeNs} ${ino} ${nlink} ${target}`;
}

/** Changed, made or removed; the parent before its child. */
export function changedPaths(before: Snapshot, after: Snapshot): readonly string[] {
  const changed = new Set<string>();
  for (const [path, one] of after) if (before.get(path) !== one) changed.add(path);
  for (const path of before.keys()) if (!after.has(path)) changed.add(path);
  return [...changed].toSorted();
}

const gitIndex = ".git/index";

/** Puts back what was changed, and nothing else, so that sockets in the arena stay. */
export function restore({ template }: Arena, changed: readonly string[]): void {
  for (const path of changed) {
    removeTree(join(arenaBase, path));
    if (isThere(join(template, path))) copyTree(join(template, path), join(arenaBase, path));
  }
}

/** What is staged, which is no change that counts. Git renews the rest of the index by itself. */
export function restoreIndex({ template, project }: Arena): void {
  const from = join(template, relative(arenaBase, project), gitIndex);
  if (isThere(from)) copyFileSync(from, join(project, gitIndex));
}

/** Also where folders in it are closed. */
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

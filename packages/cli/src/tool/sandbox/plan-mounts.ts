import { basename, dirname, join } from "node:path";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside } from "../resolve-real-path.ts";
import { sandboxMountsMax } from "./limits.ts";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { errorCode } from "../error-code.ts";
import { signalProcess } from "../signal-group.ts";

/** What is at a path, without following links. */
export type PathState =
  | { readonly kind: "file" | "folder" | "link" }
  /** `first`: the topmost missing path on the way. */
  | { readonly kind: "missing"; readonly first: string }
  /** Can't be determined: a folder on the way may not be searched. */
  | { readonly kind: "unknown" };

export type Mount =
  /** The path itself, writable. */
  | { readonly kind: "writable"; readonly path: string }
  /** The path itself, read-only. */
  | { readonly kind: "readable"; readonly path: string }
  /** Something that can't be opened, in place of a file. */
  | { readonly kind: "closed-file"; readonly path: string }
  /** An empty folder that can't be listed. `inside`: whether it contains other mounts, which can be reached by name. */
  | { readonly kind: "closed-folder"; readonly path: string; readonly inside: "mounts" | "nothing" }
  /** An empty read-only folder where nothing exists: the caller must create the folder that it is mounted on. */
  | { readonly kind: "held"; readonly path: string }
  /** Likewise a read-only file with this content, for readers that can't handle a folder. */
  | { readonly kind: "held-file"; readonly path: string; readonly content: string };

type MountPlan =
  | { readonly kind: "mounts"; readonly mounts: readonly Mount[] }
  | { readonly kind: "refused"; readonly why: string };

interface MountInput {
  readonly limits: SandboxLimits;
  /** Folders that the sandbox replaces by its own, such as `/tmp`: only what is named is visible in them. */
  readonly replaced: readonly string[];
  /** The state of every path in the limits. */
  readonly stateByPath: ReadonlyMap<string, PathState>;
}

/**
 * Plans the mounts, outer ones first, because each covers what was mounted below it. Pure.
 *
 * A mount protects a name only as long as the folders above it keep theirs: `mv config other` would take a hidden file
 * along to a name that no rule knows at the next command. So in a writable folder every folder on the way to a mount is
 * mounted onto itself: it can be written but not renamed.
 */
export function planMounts(input: MountInput): MountPlan {
  const planned: MountCover[] = input.replaced.map((path) => ({ path, access: "closed", mount: undefined }));
  for (const request of collectRequests(input.limits)) {
    const state = input.stateByPath.get(request.path) ?? { kind: "unknown" };
    const step = nextMounts({ request, state, planned });
    if (step.kind === "refused") return step;
    planned.push(...step.mounts);
    if (planned.length > sandboxMountsMax)
      return refuseMounts(`rules and settings name more than ${sandboxMountsMax} files and folders to hold`);
  }
  const mounts = planned.flatMap(({ mount }) => mount ?? []);
  return { kind: "mounts", mounts: mounts.map((mount) => withInside(mount, mounts)) };
}

interface MountRequest {
  readonly path: string;
  readonly role: "hidden" | "protected" | "writable" | "shown";
}

interface MountCover {
  readonly path: string;
  /** Access to everything in it that is not mounted over. */
  readonly access: "closed" | "readable" | "writable";
  readonly mount: Mount | undefined;
}

type MountStep =
  | { readonly kind: "mounts"; readonly mounts: readonly MountCover[] }
  | Extract<MountPlan, { kind: "refused" }>;

/** Outer paths first; if a path has two roles, the stricter wins. */
function collectRequests({ hidden, protected: kept, writable, shown }: SandboxLimits): readonly MountRequest[] {
  const roleByPath = new Map<string, MountRequest["role"]>();
  const put = (paths: readonly string[], role: MountRequest["role"]): void => {
    for (const path of paths) if (path !== "/" && !roleByPath.has(path)) roleByPath.set(path, role);
  };
  put(hidden, "hidden");
  put(kept, "protected");
  put(writable, "writable");
  put(shown, "shown");
  return [...roleByPath].map(([path, role]) => ({ path, role })).toSorted((one, other) => depth(one) - depth(other));
}

const depth = ({ path }: { readonly path: string }): number => path.split("/").length;

function nextMounts({
  request: { path, role },
  state,
  planned,
}: {
  readonly request: MountRequest;
  readonly state: PathState;
  readonly planned: readonly MountCover[];
}): MountStep {
  const cover = findCover(path, planned);
  const isThere = state.kind === "file" || state.kind === "folder";
  switch (role) {
    case "writable":
      if (!isThere || cover.access === "writable") return noMounts;
      return mountStep({ path, access: "writable", mount: { kind: "writable", path } });
    case "shown":
      if (!isThere || cover.access !== "closed") return noMounts;
      return mountStep({ path, access: "readable", mount: { kind: "readable", path } });
    case "protected":
      if (cover.access !== "writable") return noMounts;
      if (!isThere) return holdMissing({ path, state, planned, cover });
      return mountStep(...pinFolders(path, cover), { path, access: "readable", mount: { kind: "readable", path } });
    case "hidden":
      if (cover.access === "closed") return noMounts;
      if (!isThere) return cover.access === "writable" ? holdMissing({ path, state, planned, cover }) : noMounts;
      return mountStep(...(cover.access === "writable" ? pinFolders(path, cover) : []), {
        path,
        access: "closed",
        mount:
          state.kind === "file" ? { kind: "closed-file", path } : { kind: "closed-folder", path, inside: "nothing" },
      });
  }
}

const noMounts: MountStep = { kind: "mounts", mounts: [] };
const mountStep = (...added: readonly MountCover[]): MountStep => ({ kind: "mounts", mounts: added });
const refuseMounts = (why: string): Extract<MountPlan, { kind: "refused" }> => ({ kind: "refused", why });

function holdMissing({
  path,
  state,
  planned,
  cover,
}: {
  readonly path: string;
  readonly state: PathState;
  readonly planned: readonly MountCover[];
  readonly cover: MountCover;
}): MountStep {
  // A mount on a link lands at its target, and the link itself could be replaced.
  if (state.kind === "link") return refuseMounts(`${path} is a symbolic link, which can't be kept from being replaced`);
  if (state.kind !== "missing") return refuseMounts(`${path} can't be looked at, so it can't be held`);
  const { first } = state;
  const content = first === path ? contentByName.get(basename(path)) : undefined;
  const mount: Mount = content === undefined ? { kind: "held", path: first } : { kind: "held-file", path, content };
  if (planned.some((one) => one.path === first)) return noMounts;
  return mountStep(...pinFolders(first, cover), { path: first, access: "readable", mount });
}

/** Git fails if one of these is a folder; with this content it behaves as if they were missing. */
const contentByName: ReadonlyMap<string, string> = new Map([
  ["commondir", ".\n"],
  ["config.worktree", ""],
]);

/** The innermost planned mount that contains the path. */
function findCover(path: string, planned: readonly MountCover[]): MountCover {
  return planned
    .filter((one) => isInside(path, one.path))
    .reduce((inner, one) => (one.path.length >= inner.path.length ? one : inner), rootCover);
}

const rootCover: MountCover = { path: "/", access: "readable", mount: undefined };

/** The folders between a writable folder and a path in it. */
function pinFolders(path: string, cover: MountCover): readonly MountCover[] {
  const start = cover.path === "/" ? "" : cover.path;
  const names = path
    .slice(start.length + 1)
    .split("/")
    .slice(0, -1);
  return names.map((_, index) => {
    const folder = `${start}/${names.slice(0, index + 1).join("/")}`;
    return { path: folder, access: "writable", mount: { kind: "writable", path: folder } };
  });
}

function withInside(mount: Mount, all: readonly Mount[]): Mount {
  if (mount.kind !== "closed-folder") return mount;
  const isPassed = all.some(({ path }) => path !== mount.path && isInside(path, mount.path));
  return isPassed ? { ...mount, inside: "mounts" } : mount;
}

export interface MountPoint {
  readonly path: string;
  /** Content of a file; absent for an empty folder. */
  readonly content?: string | undefined;
}

/**
 * Files and folders that exist only to be mounted on while a command runs that must not create anything of that name.
 * Commands run concurrently, also those of other sessions and programs: the last one that needs a mount point removes
 * it. Removing a folder that is mounted on removes the mount too, so each process records its claim.
 *
 * Each step is synchronous: a folder that is removed between another command's check and its mount protects nothing.
 */
export class MountPoints {
  /** Holds the claims of all processes of this user. No command may write in it. */
  readonly #folder: string;
  readonly #countByPath = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns a check whether a path is currently one of these, and not the user's. */
  look(): (path: string) => boolean {
    const claimed = new Set(ignoreRefusal(() => readdirSync(this.#folder)));
    const isClaimed = (path: string): boolean =>
      claimed.size > 0 && claimed.has(claimName(path)) && this.#otherClaims(path).length > 0;
    return (path) => this.#countByPath.has(path) || isClaimed(path);
  }

  /** Creates the mount points and returns a function that removes them. Throws if one can't be created. */
  hold(points: readonly MountPoint[]): () => void {
    const created: MountPoint[] = [];
    const release = (): void => {
      for (const point of created.splice(0)) this.#release(point);
    };
    try {
      for (const point of points) {
        this.#countByPath.set(point.path, (this.#countByPath.get(point.path) ?? 0) + 1);
        created.push(point);
        this.#claim(point.path);
        makeMountPoint(point);
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #release(point: MountPoint): void {
    const count = (this.#countByPath.get(point.path) ?? 0) - 1;
    if (count > 0) return void this.#countByPath.set(point.path, count);
    this.#countByPath.delete(point.path);
    ignoreRefusal(() => unlinkSync(join(this.#claimsFolder(point.path), String(process.pid))));
    if (this.#otherClaims(point.path).length > 0) return;
    removeMountPoint(point);
    ignoreRefusal(() => rmdirSync(this.#claimsFolder(point.path)));
  }

  #claimsFolder(path: string): string {
    return join(this.#folder, claimName(path));
  }

  #claim(path: string): void {
    const folder = this.#claimsFolder(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, String(process.pid)), "");
  }

  /** Ids of other running processes that need it. */
  #otherClaims(path: string): readonly string[] {
    const names = ignoreRefusal(() => readdirSync(this.#claimsFolder(path))) ?? [];
    return names.filter((name) => Number(name) !== process.pid && signalProcess(Number(name), 0));
  }
}

const claimName = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, claimChars);

/** Enough to tell paths apart. */
const claimChars = 32;

/** Throws if its folder is reached through a link, which a command may have put there. */
function makeMountPoint({ path, content }: MountPoint): void {
  const folder = dirname(path);
  if (realpathSync.native(folder) !== folder)
    throw Object.assign(new Error(`${folder} was moved while the command was started: try again`), { code: "ELOOP" });
  try {
    if (content === undefined) mkdirSync(path);
    else writeFileSync(path, content, { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** If something was put into it or it was removed meanwhile, it is left alone. */
function removeMountPoint({ path, content }: MountPoint): void {
  ignoreRefusal(() => {
    if (content === undefined) rmdirSync(path);
    else if (readFileSync(path, "utf8") === content) rmSync(path);
  });
}

/** Undefined if the system refuses. */
function ignoreRefusal<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

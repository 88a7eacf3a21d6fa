import { basename } from "node:path";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside } from "../resolve-real-path.ts";
import { sandboxMountsMax } from "./limits.ts";

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

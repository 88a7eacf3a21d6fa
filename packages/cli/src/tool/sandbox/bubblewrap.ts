import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import type { ProgramStart, Sandbox, SandboxEntry, SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { errorCode } from "../error-code.ts";
import { startBehindBridge } from "./network/start-behind-bridge.ts";
import { temporaryEnvironment } from "./temporary-folder.ts";
import { type MountPoint, type MountPoints, type Mount, type PathState, planMounts } from "./plan-mounts.ts";
import { isInside } from "../resolve-real-path.ts";

interface BubblewrapDeps {
  /** Path of `bwrap`. */
  readonly program: string;
  /** Returns the path of a file that holds the filter of system calls. Rejects if it can't be written. */
  readonly filterFile: () => Promise<string>;
  readonly mountPoints: MountPoints;
}

export function bubblewrap(deps: BubblewrapDeps): Sandbox {
  return {
    system: "bubblewrap",
    enter: async (start, limits) => {
      try {
        return await enterBubblewrap(deps, { start, limits });
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
        return { kind: "refused", why: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

interface EnterInput {
  readonly start: ProgramStart;
  readonly limits: SandboxLimits;
}

async function enterBubblewrap(deps: BubblewrapDeps, { start, limits }: EnterInput): Promise<SandboxEntry> {
  if (limits.network.kind === "proxy" && limits.network.way.kind !== "pipes")
    return { kind: "refused", why: "the proxy can't be reached from a network of its own" };
  const filter = await deps.filterFile();
  // Synchronous from here on, so that little can happen between a check and a mount; `startWithMountCheck` finds the
  // rest. A check costs 2 µs; through a thread it would cost fifty times that.
  const replaced = findReplacedFolders();
  const plan = planMounts({ limits, replaced, stateByPath: readPathStates(deps, limits) });
  if (plan.kind === "refused") return plan;
  const release = deps.mountPoints.hold(plan.mounts.flatMap(mountPointsFor));
  const input = { ...deps, start, limits, filter, mounts: plan.mounts, replaced };
  return { kind: "ready", start: insideStart(input), leave: async () => release() };
}

function mountPointsFor(mount: Mount): readonly MountPoint[] {
  if (mount.kind === "held") return [{ path: mount.path }];
  return mount.kind === "held-file" ? [mount] : [];
}

interface StartInput extends EnterInput, Pick<BubblewrapDeps, "program"> {
  readonly filter: string;
  readonly mounts: readonly Mount[];
  readonly replaced: readonly string[];
}

/** Pure. */
function insideStart(input: StartInput): ProgramStart {
  const { program, limits, filter } = input;
  const inner = { ...input.start, env: { ...input.start.env, ...temporaryEnvironment("/tmp") } };
  const bridged = limits.network.kind === "proxy" ? startBehindBridge(inner, { folder: pipesInside }) : inner;
  const points = input.mounts.map(({ path }) => path);
  const start = startWithMountCheck(bridged, { points, folders: [...limits.writable, ...limits.shown] });
  const args = [program, ...argsFor(input), "--seccomp", filterFd, "--", start.program, ...start.args];
  return withFilter({ ...start, args }, filter);
}

/** Where the pipes to the proxy are mounted: /dev always exists and is the sandbox's own. */
const pipesInside = "/dev/palimpsest-proxy";

/** A number that the script of a command does not use. */
const filterFd = "9";

/** bubblewrap reads the filter from a descriptor, but callers that start programs may pass only the first three. */
const withFilter = (start: ProgramStart, filter: string): ProgramStart => ({
  ...start,
  program: "/bin/sh",
  args: ["-c", `filter=$1; shift; exec "$@" ${filterFd}<"$filter"`, "sh", filter, ...start.args],
});

function argsFor({ start, limits, mounts, replaced }: StartInput): readonly string[] {
  const { network } = limits;
  const isOpen = network.kind === "open";
  const isReplaced = (path: string): boolean => replaced.includes(path);
  return [
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    isOpen ? [] : ["--unshare-net"],
    // For root: with capabilities the program could remove its mounts.
    ["--cap-drop", "ALL", "--die-with-parent", "--new-session"],
    [limits.writable.includes("/") ? "--bind" : "--ro-bind", "/", "/"],
    ["--dev", "/dev", "--proc", "/proc"],
    ...temporaryFolders.filter(isReplaced).map((path) => ["--bind", limits.temporary, path]),
    ...runtimeFolders.filter(isReplaced).map((path) => ["--perms", "0555", "--tmpfs", path]),
    // The system's programs and the names of hosts, on systems that keep them there.
    ["--ro-bind-try", "/run/current-system", "/run/current-system"],
    isOpen ? ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"] : [],
    network.kind === "proxy" && network.way.kind === "pipes" ? ["--ro-bind", network.way.folder, pipesInside] : [],
    ...mounts.map(mountArgs),
    ["--chdir", start.cwd],
  ].flat();
}

function mountArgs(mount: Mount): readonly string[] {
  switch (mount.kind) {
    case "writable":
      return ["--bind", mount.path, mount.path];
    case "readable":
      return ["--ro-bind", mount.path, mount.path];
    case "closed-file":
      // A device that can't be opened on our mounts: readers get an error, whereas an empty file would look like empty
      // content.
      return ["--ro-bind", "/dev/null", mount.path];
    case "closed-folder":
      return ["--perms", mount.inside === "mounts" ? "0111" : "0000", "--tmpfs", mount.path];
    case "held":
      return ["--perms", "0555", "--tmpfs", mount.path];
    case "held-file":
      return ["--ro-bind", mount.path, mount.path];
  }
}

const temporaryFolders: readonly string[] = ["/tmp", "/var/tmp"];
/** Sockets of daemons, secrets of containers. */
const runtimeFolders: readonly string[] = ["/run", "/var/run"];

/** `/var/run` and `/var/tmp` are links on some systems: then their targets are replaced. */
function findReplacedFolders(): readonly string[] {
  const folders = [...temporaryFolders, ...runtimeFolders];
  return ["/dev", "/proc", ...folders.filter((path) => readPathState(path, () => false).kind === "folder")];
}

function readPathStates({ mountPoints }: BubblewrapDeps, limits: SandboxLimits): ReadonlyMap<string, PathState> {
  const { hidden, protected: kept, writable, shown } = limits;
  const isMountPoint = mountPoints.look();
  return new Map([...hidden, ...kept, ...writable, ...shown].map((path) => [path, readPathState(path, isMountPoint)]));
}

/**
 * `isMountPoint`: placed there by another running command. It counts as missing, because it goes away with that
 * command.
 */
function readPathState(path: string, isMountPoint: (path: string) => boolean): PathState {
  if (isMountPoint(path)) return { kind: "missing", first: path };
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined) return { kind: found.isSymbolicLink() ? "link" : found.isDirectory() ? "folder" : "file" };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { kind: "unknown" };
  }
  const parent = readPathState(dirname(path), isMountPoint);
  if (parent.kind === "file" || parent.kind === "unknown") return { kind: "unknown" };
  return parent.kind === "missing" ? parent : { kind: "missing", first: path };
}

/**
 * Concurrent commands share the project: one may swap a folder for a link between our check and another command's
 * mount, which then lands at the link's target. So a program whose mounts are in folders that others may move starts
 * only after each mount is verified, from inside, to be where it was meant to be. Pure.
 */
export function startWithMountCheck(start: ProgramStart, { points, folders }: MountCheckInput): ProgramStart {
  const movable = points.filter((point) => folders.some((folder) => liesDeeper(point, folder)));
  if (movable.length === 0) return start;
  const list = movable.map(escapePath).join(" ");
  return { ...start, program: "/bin/sh", args: ["-c", mountCheckScript, "sh", list, start.program, ...start.args] };
}

interface MountCheckInput {
  readonly points: readonly string[];
  /** Folders in which commands may write, now or concurrently. */
  readonly folders: readonly string[];
}

/** Entries of the folder itself are kept in place by each command's own mounts. */
const liesDeeper = (point: string, folder: string): boolean =>
  isInside(point, folder) && point.slice(folder.length + 1).includes("/");

/** As the system writes mount points. */
const escapePath = (path: string): string =>
  path.replaceAll(/[\\ \t\n]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);

const mountCheckScript = `seen=" "
while read -r _ _ _ _ point _; do seen="$seen$point "; done </proc/self/mountinfo
set -f
for point in $1; do
  case $seen in
    *" $point "*) ;;
    *) echo "bwrap: a folder of the project was moved while the command was started: try again" >&2; exit 126 ;;
  esac
done
set +f
shift
exec "$@"`;

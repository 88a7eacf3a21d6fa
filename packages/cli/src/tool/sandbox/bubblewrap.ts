import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import type { ProgramStart, Sandbox, SandboxEntry, SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { codeOf } from "../failure.ts";
import { checkedStart } from "./checked-mounts.ts";
import { bridgedStart } from "./network/bridge.ts";
import type { MountPoint, MountPoints } from "./mount-points.ts";
import { temporaryEnvironment } from "./temporary-environment.ts";
import { type Mount, type PathState, planMounts } from "./mounts.ts";

export interface BubblewrapDeps {
  /** Of `bwrap`. */
  readonly program: string;
  /** Gives the path of a file that holds the filter of system calls. Rejects if it can't be written. */
  readonly filterFile: () => Promise<string>;
  readonly mountPoints: MountPoints;
}

export function bubblewrap(deps: BubblewrapDeps): Sandbox {
  return {
    system: "bubblewrap",
    enter: async (start, limits) => {
      try {
        return await enter(deps, { start, limits });
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        return { kind: "refused", why: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

interface Entering {
  readonly start: ProgramStart;
  readonly limits: SandboxLimits;
}

async function enter(deps: BubblewrapDeps, { start, limits }: Entering): Promise<SandboxEntry> {
  if (limits.network.kind === "proxy" && limits.network.way.kind !== "pipes")
    return { kind: "refused", why: "the proxy can't be reached from a network of its own" };
  const filter = await deps.filterFile();
  // From here on at once, so that little can happen between a look and a mount; what does, `checkedStart` finds. A look costs
  // 2 µs, one by way of a thread fifty times that.
  const replaced = replacedFolders();
  const plan = planMounts({ limits, replaced, stateByPath: statesOf(deps, limits) });
  if (plan.kind === "refused") return plan;
  const release = deps.mountPoints.hold(plan.mounts.flatMap(mountPointOf));
  const input = { ...deps, start, limits, filter, mounts: plan.mounts, replaced };
  return { kind: "ready", start: insideStart(input), leave: async () => release() };
}

function mountPointOf(mount: Mount): readonly MountPoint[] {
  if (mount.kind === "held") return [{ path: mount.path }];
  return mount.kind === "held-file" ? [mount] : [];
}

interface StartInput extends Entering, Pick<BubblewrapDeps, "program"> {
  readonly filter: string;
  readonly mounts: readonly Mount[];
  readonly replaced: readonly string[];
}

/** Pure. */
function insideStart(input: StartInput): ProgramStart {
  const { program, limits, filter } = input;
  const inner = { ...input.start, env: { ...input.start.env, ...temporaryEnvironment("/tmp") } };
  const bridged = limits.network.kind === "proxy" ? bridgedStart(inner, { folder: pipesInside }) : inner;
  const points = input.mounts.map(({ path }) => path);
  const start = checkedStart(bridged, { points, folders: [...limits.writable, ...limits.shown] });
  const args = [program, ...argsFor(input), "--seccomp", filterFd, "--", start.program, ...start.args];
  return withFilter({ ...start, args }, filter);
}

/** Where the pipes to the proxy are mounted: the one folder that is there in any case, and our own. */
const pipesInside = "/dev/palimpsest-proxy";

/** No number that the script of a command uses. */
const filterFd = "9";

/** bubblewrap takes the filter from a descriptor, and whoever starts programs here may know none but the first three. */
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
    // For root: without it the program could take its mounts away.
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
      // A device, which no mount of ours lets be opened: a reader is refused, where an empty file would pass for empty.
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

/** `/var/run` and `/var/tmp` are links on some systems: what they lead to is replaced then. */
function replacedFolders(): readonly string[] {
  const sought = [...temporaryFolders, ...runtimeFolders];
  return ["/dev", "/proc", ...sought.filter((path) => stateOf(path, () => false).kind === "folder")];
}

function statesOf({ mountPoints }: BubblewrapDeps, limits: SandboxLimits): ReadonlyMap<string, PathState> {
  const { hidden, protected: kept, writable, shown } = limits;
  const isMountPoint = mountPoints.look();
  return new Map([...hidden, ...kept, ...writable, ...shown].map((path) => [path, stateOf(path, isMountPoint)]));
}

/** `isMountPoint`: of another command that runs. It counts as missing, as it goes away with that command. */
function stateOf(path: string, isMountPoint: (path: string) => boolean): PathState {
  if (isMountPoint(path)) return { kind: "missing", first: path };
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined) return { kind: found.isSymbolicLink() ? "link" : found.isDirectory() ? "folder" : "file" };
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return { kind: "unknown" };
  }
  const parent = stateOf(dirname(path), isMountPoint);
  if (parent.kind === "file" || parent.kind === "unknown") return { kind: "unknown" };
  return parent.kind === "missing" ? parent : { kind: "missing", first: path };
}

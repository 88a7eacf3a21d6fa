import { existsSync, lstatSync, realpathSync, readlinkSync } from "node:fs";
import { delimiter, isAbsolute, dirname, join, resolve, basename } from "node:path";
import type {
  ProgramStart,
  Sandbox,
  SandboxEntry,
  SandboxLimits,
  SandboxNetwork,
  SandboxUse,
  SandboxStrength,
} from "palimpsest/internal/ports/sandbox";
import type { ToolAction, ShellAction } from "palimpsest/internal/ports/tool";
import { errorCode } from "../error-code.ts";
import { isInside, isInsideAny } from "../resolve-real-path.ts";
import type { Rules } from "../permission/rule.ts";
import { FolderScanner } from "./folder-scanner.ts";
import { gitFolders } from "./git-folders.ts";
import { bridgeFolders } from "./network/start-behind-bridge.ts";
import type { CommandNetwork } from "./network/command-network.ts";
import { pathsToProtectIfPresent, pathsToProtect, secretPaths } from "./secret-paths.ts";
import { DeniedPrograms, type DeniedProgramsInput, RulePathFinder } from "./rule-limits.ts";
import type { TemporaryFolder } from "./temporary-folder.ts";
import { linksOnWayMax } from "./limits.ts";

export interface SessionSandboxDeps {
  /** Called for each command: the setting may be strengthened while the session is open. */
  readonly use: () => SandboxUse;
  /** Real paths of the project's folders. */
  readonly roots: readonly string[];
  readonly home: string;
  /** This engine's home: always hidden. */
  readonly ownHome?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Files and folders that hold settings, as named: no command may change them, wherever their links lead. */
  readonly guarded: readonly string[];
  /** Real paths that may be read like the project's own, such as the results of this session. */
  readonly readRoots: readonly string[];
  /** Called for each command. */
  readonly rules: () => Rules;
  readonly temporary: TemporaryFolder;
}

interface SandboxedCommand {
  /** The acts of the shell line that the program runs. All of them were allowed. */
  readonly acts: readonly ToolAction[];
  /** Absent: it reaches no host. */
  readonly network?: CommandNetwork | undefined;
}

/** With its limits; absent if it is not sandboxed. */
type SandboxedEntry = SandboxEntry & { readonly limits?: SandboxLimits };

/** The sandbox for the commands of one session. */
export interface SessionSandbox {
  /** How commands run now. */
  readonly use: () => SandboxUse;
  /** Must not reject. */
  enter(start: ProgramStart, command: SandboxedCommand): Promise<SandboxedEntry>;
}

/** The disk is checked for each command: folders and links may have changed since the last. */
export function sessionSandbox(deps: SessionSandboxDeps): SessionSandbox {
  const rulePaths = new RulePathFinder(deps);
  const scanner = new FolderScanner();
  const programs = new DeniedPrograms();
  return {
    use: deps.use,
    enter: async (start, command) => {
      const use = deps.use();
      if (use.kind === "unheld") return { kind: "ready", start, leave: async () => undefined };
      if (use.kind === "refused") return { kind: "refused", why: sandboxRequiredText(use) };
      try {
        return await enterSession(deps, { sandbox: use.sandbox, rulePaths, scanner, programs, start, ...command });
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
        return { kind: "refused", why: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** For the model and the user: why a command does not run. */
export const sandboxRequiredText = ({ why, remedy }: Extract<SandboxUse, { kind: "refused" }>): string =>
  `a sandbox is required, and there is none here (${why}); the user can ${remedy}`;

interface EnterSessionInput extends SandboxedCommand {
  readonly sandbox: Sandbox;
  readonly rulePaths: RulePathFinder;
  readonly scanner: FolderScanner;
  readonly programs: DeniedPrograms;
  readonly start: ProgramStart;
}

/** Opens the proxy before the program starts and closes it afterwards. */
async function enterSession(deps: SessionSandboxDeps, input: EnterSessionInput): Promise<SandboxedEntry> {
  const opened = await input.network?.open(input.sandbox.system);
  if (opened === undefined) return await enterWithNetwork(deps, { ...input, sandboxNetwork: { kind: "off" } });
  if (opened.kind === "failed") return { kind: "refused", why: opened.why };
  let entry: SandboxedEntry | undefined;
  try {
    entry = await enterWithNetwork(deps, { ...input, sandboxNetwork: opened.network });
  } finally {
    if (entry?.kind !== "ready") await opened.close();
  }
  if (entry.kind === "refused") return entry;
  const { leave } = entry;
  return { ...entry, leave: async () => void (await Promise.all([opened.close(), leave()])) };
}

interface EnterWithNetworkInput extends EnterSessionInput {
  readonly sandboxNetwork: SandboxNetwork;
}

async function enterWithNetwork(
  deps: SessionSandboxDeps,
  { sandbox, rulePaths, scanner, programs, start, acts, sandboxNetwork }: EnterWithNetworkInput,
): Promise<SandboxedEntry> {
  const { readRoots, env } = deps;
  const roots = [...new Set(deps.roots)];
  const act = acts.find((one): one is ShellAction => one.kind === "shell") ?? unknownLine;
  const pathsOf = (kind: "read" | "write") => acts.flatMap((one) => (one.kind === kind ? [one.path] : []));
  const reads = pathsOf("read");
  const gitByRoot = new Map(roots.map((root) => [root, gitFolders(root)]));
  const nested = roots.flatMap((root) => scanner.repositoriesIn(root));
  const histories = new Map([...gitByRoot, ...nested.map((folder) => [folder, gitFolders(folder)] as const)]);
  const ruleLimits = await rulePaths.limits({ act, reads, writes: pathsOf("write"), gitByFolder: histories });
  if (ruleLimits.kind === "refused") return ruleLimits;
  const git = [...gitByRoot.values()];
  const strength = sandboxStrength(act);
  const home = realPath(deps.home);
  const ownHomes = deps.ownHome === undefined ? [] : [deps.ownHome];
  const places = {
    roots: [...roots, ...git.flatMap(({ writable }) => writable)],
    secrets: [
      ...realPaths([...secretPaths({ home, env }), ...ownHomes]),
      ...ruleLimits.hidden,
      // Rules about commands don't apply to servers.
      ...(act === unknownLine ? [] : programs.find(programRules(deps, { start, sandboxNetwork }))),
      // Pipes of the project are its own, if it may be written.
      ...[home, ...roots]
        .flatMap((folder) => scanner.pipesIn(folder))
        .filter((pipe) => strength === "read-only" || !isInsideAny(pipe, roots)),
    ],
    protected: [
      ...pathsToProtect({ roots, home }),
      ...pathsToProtectIfPresent({ roots }).filter((path) => existsSync(path)),
      ...git.flatMap((one) => one.protected),
      ...deps.guarded.flatMap(listPathLinks),
      ...nested.flatMap(pathsToProtectIn),
    ],
    unchanged: ruleLimits.protected,
    tools: [
      ...pathFolders(deps.home, env["PATH"] ?? ""),
      ...(sandboxNetwork.kind === "proxy" ? realPaths(bridgeFolders) : []),
      ...readRoots,
    ],
    named: reads,
    asked: ruleLimits.asked,
    temporary: await deps.temporary.open(),
  };
  const limits = computeSandboxLimits({ strength, places, network: sandboxNetwork });
  return { ...(await sandbox.enter(start, limits)), limits };
}

/** A link can't be protected, and a link in a nested repository is no reason to refuse the command. */
const pathsToProtectIn = (folder: string): readonly string[] =>
  gitFolders(folder).protected.filter((path) => realPath(path) === path);

const programRules = (
  deps: SessionSandboxDeps,
  { start, sandboxNetwork }: Pick<EnterWithNetworkInput, "start" | "sandboxNetwork">,
): DeniedProgramsInput => ({
  rules: deps.rules().deny,
  path: start.env["PATH"] ?? deps.env["PATH"] ?? "",
  // The bridge to the proxy is run by this engine's Node.
  needed: [start.program, "/bin/sh", ...(sandboxNetwork.kind === "proxy" ? [process.execPath] : [])],
});

/** Folders on PATH whose path contains no link: a command may have created a link there to make its target visible. */
const pathFolders = (home: string, path: string): readonly string[] =>
  path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => withRealHome(folder, home))
    .filter((folder) => realPath(folder) === folder);

const withRealHome = (folder: string, home: string): string =>
  isInside(folder, home) ? realPath(home) + folder.slice(home.length) : folder;

const unknownLine: ShellAction = { kind: "shell", command: "", effect: "unknown", reads: "unclear", writes: "unclear" };

/**
 * Resolves links; a missing or inaccessible path stays as named. Synchronous: a check costs 2 µs, through a thread
 * fifty times that, and each command needs about a hundred.
 */
const realPaths = (paths: readonly string[]): readonly string[] => [...new Set(paths.map(realPath))];

function realPath(path: string): string {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync.native(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return path;
  }
}

/**
 * Every symbolic link on the way to a path, by its real location, and then the final target: a program that could
 * replace one of them would redirect the path. A missing path counts by its name. Synchronous, because each name costs
 * a few microseconds.
 */
export function listPathLinks(path: string): readonly string[] {
  const links: string[] = [];
  const left = pathNames(resolve(path));
  let place = "/";
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = name === ".." ? dirname(place) : join(place, name);
    const target = links.length < linksOnWayMax ? linkTarget(next) : undefined;
    if (target === undefined) place = next;
    else {
      links.push(next);
      left.unshift(...pathNames(target));
      if (target.startsWith("/")) place = "/";
    }
  }
  return [...links, place];
}

const pathNames = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

/** Undefined if it is not a link. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** All real paths. */
export interface SandboxPlaces {
  /** The project's folders. */
  readonly roots: readonly string[];
  /** Locations of credentials, and files that rules hide. */
  readonly secrets: readonly string[];
  /** Files that decide about programs that run outside. */
  readonly protected: readonly string[];
  /** Files that rules keep from being changed. */
  readonly unchanged: readonly string[];
  /** Readable for commands even if inside secrets: folders on PATH, results of this session. */
  readonly tools: readonly string[];
  /** Files that this command names: allowed, but in bypass mode the user was not asked. */
  readonly named: readonly string[];
  /** Files that it names and that an ask rule covers: the user has allowed them. */
  readonly asked: readonly string[];
  readonly temporary: string;
}

/** Commands that run without asking write nothing; allowed ones may write in the project. Pure. */
export function computeSandboxLimits({
  strength,
  places,
  network,
}: {
  readonly strength: Exclude<SandboxStrength, "none">;
  readonly places: SandboxPlaces;
  readonly network: SandboxNetwork;
}): SandboxLimits {
  const { roots, secrets, unchanged, tools, named, asked, temporary } = places;
  const isWritable = (root: string): boolean => strength === "workspace" && !isInsideAny(root, unchanged);
  const isToBeShown = (path: string): boolean => isTemporary(path) && !isInsideAny(path, secrets);
  return {
    strength,
    writable: roots.filter(isWritable),
    protected: strength === "workspace" ? [...places.protected, ...unchanged] : [],
    hidden: secrets,
    shown: [...roots, ...tools.map((folder) => toolRoot(folder, secrets)), ...named.filter(isToBeShown), ...asked],
    temporary,
    network,
  };
}

/**
 * The session's own folder replaces the system's temporary folders, so other files there that a command names have to
 * be shown.
 */
const isTemporary = (path: string): boolean =>
  ["/tmp", "/var/tmp"].some((folder) => path !== folder && isInside(path, folder));

/**
 * A program on PATH needs the files it was installed with: `x/bin` brings `x` along, unless that has to be hidden
 * itself.
 */
function toolRoot(folder: string, secrets: readonly string[]): string {
  const above = dirname(folder);
  const root = basename(above) === "node_modules" ? dirname(above) : above;
  const isOfPackage = /^\.?s?bin$/.test(basename(folder)) && root !== "/";
  const holdsSecrets = secrets.some((secret) => isInside(secret, root));
  return isOfPackage && isInsideAny(root, secrets) && !holdsSecrets ? root : folder;
}

/** A command that is known to change nothing is confined to that; every other one works in the project. */
export const sandboxStrength = ({ effect }: Pick<ShellAction, "effect">): Exclude<SandboxStrength, "none"> =>
  effect === "read-only" ? "read-only" : "workspace";

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
import { DeniedPrograms, type DeniedProgramsInput } from "./denied-programs.ts";
import { FolderScanner } from "./folder-scanner.ts";
import { gitFolders } from "./git-folders.ts";
import { bridgeFolders } from "./network/start-behind-bridge.ts";
import type { CommandNetwork } from "./network/command-network.ts";
import { pathsToProtectIfPresent, pathsToProtect, secretPaths } from "./secret-paths.ts";
import { RulePathFinder } from "./rule-limits.ts";
import type { TemporaryFolder } from "./temporary-folder.ts";
import { linksOnWayMax } from "./limits.ts";

export interface SessionSandboxDeps {
  /** Asked for each command: the setting may be strengthened while the session is open. */
  readonly use: () => SandboxUse;
  /** Real paths of the project's folders. */
  readonly roots: readonly string[];
  readonly home: string;
  /** This engine's home: hidden wherever it is. */
  readonly ownHome?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Files and folders that hold settings, as they are named: no command may change them, wherever their links lead. */
  readonly guarded: readonly string[];
  /** Real paths that are read like the project's own, such as the results of this session. */
  readonly readRoots: readonly string[];
  /** Asked for each command. */
  readonly rules: () => Rules;
  readonly temporary: TemporaryFolder;
}

interface SandboxedCommand {
  /** Of the shell line that the program runs. All of them were allowed. */
  readonly acts: readonly ToolAction[];
  /** Absent: it reaches no host. */
  readonly network?: CommandNetwork | undefined;
}

/** With what it is held to; absent where nothing holds it. */
type SandboxedEntry = SandboxEntry & { readonly limits?: SandboxLimits };

/** The sandbox as the commands of one session use it. */
export interface SessionSandbox {
  /** How commands run now. */
  readonly use: () => SandboxUse;
  /** Must not reject. */
  enter(start: ProgramStart, command: SandboxedCommand): Promise<SandboxedEntry>;
}

/** What is on disk is looked at for each command: folders and links may have changed since the last. */
export function sessionSandbox(deps: SessionSandboxDeps): SessionSandbox {
  const rulePaths = new RulePathFinder(deps);
  const look = new FolderScanner();
  const programs = new DeniedPrograms();
  return {
    use: deps.use,
    enter: async (start, command) => {
      const use = deps.use();
      if (use.kind === "unheld") return { kind: "ready", start, leave: async () => undefined };
      if (use.kind === "refused") return { kind: "refused", why: sandboxRequiredText(use) };
      try {
        return await enterSession(deps, { sandbox: use.sandbox, rulePaths, look, programs, start, ...command });
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
  readonly look: FolderScanner;
  readonly programs: DeniedPrograms;
  readonly start: ProgramStart;
}

/** The proxy is there before the program, and goes with it. */
async function enterSession(deps: SessionSandboxDeps, entering: EnterSessionInput): Promise<SandboxedEntry> {
  const opened = await entering.network?.open(entering.sandbox.system);
  if (opened === undefined) return await enterWithNetwork(deps, { ...entering, reached: { kind: "off" } });
  if (opened.kind === "failed") return { kind: "refused", why: opened.why };
  let entry: SandboxedEntry | undefined;
  try {
    entry = await enterWithNetwork(deps, { ...entering, reached: opened.network });
  } finally {
    if (entry?.kind !== "ready") await opened.close();
  }
  if (entry.kind === "refused") return entry;
  const { leave } = entry;
  return { ...entry, leave: async () => void (await Promise.all([opened.close(), leave()])) };
}

interface EnterWithNetworkInput extends EnterSessionInput {
  readonly reached: SandboxNetwork;
}

async function enterWithNetwork(
  deps: SessionSandboxDeps,
  { sandbox, rulePaths, look, programs, start, acts, reached }: EnterWithNetworkInput,
): Promise<SandboxedEntry> {
  const { readRoots, env } = deps;
  const roots = [...new Set(deps.roots)];
  const act = acts.find((one): one is ShellAction => one.kind === "shell") ?? unknownLine;
  const pathsOf = (kind: "read" | "write") => acts.flatMap((one) => (one.kind === kind ? [one.path] : []));
  const reads = pathsOf("read");
  const gitByRoot = new Map(roots.map((root) => [root, gitFolders(root)]));
  const nested = roots.flatMap((root) => look.repositoriesIn(root));
  const histories = new Map([...gitByRoot, ...nested.map((folder) => [folder, gitFolders(folder)] as const)]);
  const ruled = await rulePaths.limits({ act, reads, writes: pathsOf("write"), gitByFolder: histories });
  if (ruled.kind === "refused") return ruled;
  const git = [...gitByRoot.values()];
  const strength = sandboxStrength(act);
  const home = realPath(deps.home);
  const own = deps.ownHome === undefined ? [] : [deps.ownHome];
  const places = {
    roots: [...roots, ...git.flatMap(({ writable }) => writable)],
    secrets: [
      ...realPaths([...secretPaths({ home, env }), ...own]),
      ...ruled.hidden,
      // Rules about commands are none about servers.
      ...(act === unknownLine ? [] : programs.find(programRules(deps, { start, reached }))),
      // Those of the project are its own, if it may be written.
      ...[home, ...roots]
        .flatMap((folder) => look.pipesIn(folder))
        .filter((pipe) => strength === "read-only" || !isInsideAny(pipe, roots)),
    ],
    protected: [
      ...pathsToProtect({ roots, home }),
      ...pathsToProtectIfPresent({ roots }).filter((path) => existsSync(path)),
      ...git.flatMap((one) => one.protected),
      ...deps.guarded.flatMap(listPathLinks),
      ...nested.flatMap(pathsToProtectIn),
    ],
    unchanged: ruled.protected,
    tools: [
      ...pathFolders(deps.home, env["PATH"] ?? ""),
      ...(reached.kind === "proxy" ? realPaths(bridgeFolders) : []),
      ...readRoots,
    ],
    named: reads,
    asked: ruled.asked,
    temporary: await deps.temporary.open(),
  };
  const limits = computeSandboxLimits({ strength, places, network: reached });
  return { ...(await sandbox.enter(start, limits)), limits };
}

/** A link can't be held, and the command is not refused for one in a repository that is not the project's own. */
const pathsToProtectIn = (folder: string): readonly string[] =>
  gitFolders(folder).protected.filter((path) => realPath(path) === path);

const programRules = (
  deps: SessionSandboxDeps,
  { start, reached }: Pick<EnterWithNetworkInput, "start" | "reached">,
): DeniedProgramsInput => ({
  rules: deps.rules().deny,
  path: start.env["PATH"] ?? deps.env["PATH"] ?? "",
  // The way to the proxy is a program of this engine.
  needed: [start.program, "/bin/sh", ...(reached.kind === "proxy" ? [process.execPath] : [])],
});

/**
 * Folders on PATH that are what they are called: one that is a link, or lies behind one, may have been made so by a
 * command, to be shown what it leads to.
 */
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
 * Where they lead; what is not there, or can't be looked at, by its name. At once, as a look costs 2 µs, and one by way of
 * a thread fifty times that: there are some hundred for each command.
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
 * Every symbolic link that is passed on the way to a path, by its real place, and then where the path leads: a program that
 * could replace one of them would lead it somewhere else. What is not there counts by its name. At once, as a name costs
 * some microseconds.
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

/** Undefined if it is no link. */
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
  /** Where credentials are, and what rules hide. */
  readonly secrets: readonly string[];
  /** What decides about programs that run outside. */
  readonly protected: readonly string[];
  /** What rules keep from being changed. */
  readonly unchanged: readonly string[];
  /** Read by commands although they may lie among secrets: folders on PATH, results of this session. */
  readonly tools: readonly string[];
  /** What this command reads by name: allowed, but in bypass mode nobody was asked. */
  readonly named: readonly string[];
  /** What it reads by name and a rule asked about: the user said yes. */
  readonly asked: readonly string[];
  readonly temporary: string;
}

/** What runs unasked writes nothing; what was allowed writes in the project. Pure. */
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

/** The system's temporary folders are replaced by the session's own, so what a command means of the others is shown. */
const isTemporary = (path: string): boolean =>
  ["/tmp", "/var/tmp"].some((folder) => path !== folder && isInside(path, folder));

/** A program on PATH needs what it was installed with: `x/bin` comes with `x`, unless that is itself to be hidden. */
function toolRoot(folder: string, secrets: readonly string[]): string {
  const above = dirname(folder);
  const root = basename(above) === "node_modules" ? dirname(above) : above;
  const isOfPackage = /^\.?s?bin$/.test(basename(folder)) && root !== "/";
  const holdsSecrets = secrets.some((secret) => isInside(secret, root));
  return isOfPackage && isInsideAny(root, secrets) && !holdsSecrets ? root : folder;
}

/** A command that is known to change nothing is held to that; every other that may run at all works in the project. */
export const sandboxStrength = ({ effect }: Pick<ShellAction, "effect">): Exclude<SandboxStrength, "none"> =>
  effect === "read-only" ? "read-only" : "workspace";

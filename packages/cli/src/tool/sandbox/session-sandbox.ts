import { existsSync, lstatSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute } from "node:path";
import type {
  ProgramStart,
  Sandbox,
  SandboxEntry,
  SandboxLimits,
  SandboxNetwork,
  SandboxUse,
} from "palimpsest/internal/ports/sandbox";
import type { Act, ShellAct } from "palimpsest/internal/ports/tools";
import { codeOf } from "../failure.ts";
import { isInside, isInsideAny } from "../inside.ts";
import type { Rules } from "../permission/rule.ts";
import { DeniedPrograms, type DeniedProgramsInput } from "./denied-programs.ts";
import { FolderLook } from "./folder-look.ts";
import { gitFolders } from "./git-folders.ts";
import { limitsFor, strengthFor } from "./limits-for.ts";
import { bridgeFolders } from "./network/bridge.ts";
import type { CommandNetwork } from "./network/command-network.ts";
import { protectedIfThere, protectedPaths } from "./protected-paths.ts";
import { RulePaths } from "./rule-limits.ts";
import { secretPaths } from "./secret-paths.ts";
import { wayTo } from "./way-to.ts";
import type { TemporaryFolder } from "./temporary-folder.ts";

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

export interface HeldCommand {
  /** Of the shell line that the program runs. All of them were allowed. */
  readonly acts: readonly Act[];
  /** Absent: it reaches no host. */
  readonly network?: CommandNetwork | undefined;
}

/** With what it is held to; absent where nothing holds it. */
export type HeldEntry = SandboxEntry & { readonly limits?: SandboxLimits };

/** The sandbox as the commands of one session use it. */
export interface SessionSandbox {
  /** How commands run now. */
  readonly use: () => SandboxUse;
  /** Must not reject. */
  enter(start: ProgramStart, command: HeldCommand): Promise<HeldEntry>;
}

/** What is on disk is looked at for each command: folders and links may have changed since the last. */
export function sessionSandbox(deps: SessionSandboxDeps): SessionSandbox {
  const rulePaths = new RulePaths(deps);
  const look = new FolderLook();
  const programs = new DeniedPrograms();
  return {
    use: deps.use,
    enter: async (start, command) => {
      const use = deps.use();
      if (use.kind === "unheld") return { kind: "ready", start, leave: async () => undefined };
      if (use.kind === "refused") return { kind: "refused", why: requiredText(use) };
      try {
        return await enter(deps, { sandbox: use.sandbox, rulePaths, look, programs, start, ...command });
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        return { kind: "refused", why: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** For the model and the user: why a command does not run. */
export const requiredText = ({ why, remedy }: Extract<SandboxUse, { kind: "refused" }>): string =>
  `a sandbox is required, and there is none here (${why}); the user can ${remedy}`;

interface Entering extends HeldCommand {
  readonly sandbox: Sandbox;
  readonly rulePaths: RulePaths;
  readonly look: FolderLook;
  readonly programs: DeniedPrograms;
  readonly start: ProgramStart;
}

/** The proxy is there before the program, and goes with it. */
async function enter(deps: SessionSandboxDeps, entering: Entering): Promise<HeldEntry> {
  const opened = await entering.network?.open(entering.sandbox.system);
  if (opened === undefined) return await enterWith(deps, { ...entering, reached: { kind: "off" } });
  if (opened.kind === "failed") return { kind: "refused", why: opened.why };
  let entry: HeldEntry | undefined;
  try {
    entry = await enterWith(deps, { ...entering, reached: opened.network });
  } finally {
    if (entry?.kind !== "ready") await opened.close();
  }
  if (entry.kind === "refused") return entry;
  const { leave } = entry;
  return { ...entry, leave: async () => void (await Promise.all([opened.close(), leave()])) };
}

interface Networked extends Entering {
  readonly reached: SandboxNetwork;
}

async function enterWith(
  deps: SessionSandboxDeps,
  { sandbox, rulePaths, look, programs, start, acts, reached }: Networked,
): Promise<HeldEntry> {
  const { readRoots, env } = deps;
  const roots = [...new Set(deps.roots)];
  const act = acts.find((one): one is ShellAct => one.kind === "shell") ?? unknownLine;
  const pathsOf = (kind: "read" | "write") => acts.flatMap((one) => (one.kind === kind ? [one.path] : []));
  const reads = pathsOf("read");
  const gitByRoot = new Map(roots.map((root) => [root, gitFolders(root)]));
  const nested = roots.flatMap((root) => look.repositoriesIn(root));
  const histories = new Map([...gitByRoot, ...nested.map((folder) => [folder, gitFolders(folder)] as const)]);
  const ruled = await rulePaths.limits({ act, reads, writes: pathsOf("write"), gitByFolder: histories });
  if (ruled.kind === "refused") return ruled;
  const git = [...gitByRoot.values()];
  const strength = strengthFor(act);
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
      ...protectedPaths({ roots, home }),
      ...protectedIfThere({ roots }).filter((path) => existsSync(path)),
      ...git.flatMap((one) => one.protected),
      ...deps.guarded.flatMap(wayTo),
      ...nested.flatMap(nestedProtected),
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
  const limits = limitsFor({ strength, places, network: reached });
  return { ...(await sandbox.enter(start, limits)), limits };
}

/** A link can't be held, and the command is not refused for one in a repository that is not the project's own. */
const nestedProtected = (folder: string): readonly string[] =>
  gitFolders(folder).protected.filter((path) => realPath(path) === path);

const programRules = (
  deps: SessionSandboxDeps,
  { start, reached }: Pick<Networked, "start" | "reached">,
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

const unknownLine: ShellAct = { kind: "shell", command: "", effect: "unknown", reads: "unclear", writes: "unclear" };

/**
 * Where they lead; what is not there, or can't be looked at, by its name. At once, as a look costs 2 µs, and one by way of
 * a thread fifty times that: there are some hundred for each command.
 */
const realPaths = (paths: readonly string[]): readonly string[] => [...new Set(paths.map(realPath))];

function realPath(path: string): string {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync.native(path);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return path;
  }
}

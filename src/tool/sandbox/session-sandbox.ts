import { delimiter, isAbsolute } from "node:path";
import type {
  ProgramStart,
  Sandbox,
  SandboxEntry,
  SandboxNetwork,
  SandboxStrength,
  SandboxUse,
} from "../../ports/sandbox.ts";
import { realRoots, resolveReal } from "../confine.ts";
import { codeOf } from "../failure.ts";
import { limitsFor } from "./limits-for.ts";
import type { CommandNetwork } from "./network/command-network.ts";
import { protectedPaths } from "./protected-paths.ts";
import { secretPaths } from "./secret-paths.ts";
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
  /** Real paths that are read like the project's own, such as the results of this session. */
  readonly readRoots: readonly string[];
  readonly temporary: TemporaryFolder;
}

export interface CommandLimits {
  readonly strength: Exclude<SandboxStrength, "none">;
  /** Real paths that the command names and that it may read. */
  readonly reads: readonly string[];
  /** Absent: it reaches no host. */
  readonly network?: CommandNetwork | undefined;
}

/** The sandbox as the commands of one session use it. */
export interface SessionSandbox {
  /** Must not reject. */
  enter(start: ProgramStart, limits: CommandLimits): Promise<SandboxEntry>;
}

/** What is on disk is looked at for each command: folders and links may have changed since the last. */
export const sessionSandbox = (deps: SessionSandboxDeps): SessionSandbox => ({
  enter: async (start, command) => {
    const use = deps.use();
    if (use.kind === "unheld") return { kind: "ready", start, leave: async () => undefined };
    if (use.kind === "refused") return { kind: "refused", why: requiredText(use) };
    try {
      return await enter(deps, { sandbox: use.sandbox, start, ...command });
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return { kind: "refused", why: error instanceof Error ? error.message : String(error) };
    }
  },
});

const requiredText = ({ why, remedy }: Extract<SandboxUse, { kind: "refused" }>): string =>
  `a sandbox is required, and there is none here (${why}); the user can ${remedy}`;

interface Entering extends CommandLimits {
  readonly sandbox: Sandbox;
  readonly start: ProgramStart;
}

/** The proxy is there before the program, and goes with it. */
async function enter(deps: SessionSandboxDeps, entering: Entering): Promise<SandboxEntry> {
  const opened = await entering.network?.open(entering.sandbox.system);
  if (opened === undefined) return await enterWith(deps, { ...entering, reached: { kind: "off" } });
  if (opened.kind === "failed") return { kind: "refused", why: opened.why };
  let entry: SandboxEntry | undefined;
  try {
    entry = await enterWith(deps, { ...entering, reached: opened.network });
  } finally {
    if (entry?.kind !== "ready") await opened.close();
  }
  if (entry.kind === "refused") return entry;
  const { start, leave } = entry;
  return { kind: "ready", start, leave: async () => void (await Promise.all([opened.close(), leave()])) };
}

interface Networked extends Entering {
  readonly reached: SandboxNetwork;
}

async function enterWith(
  deps: SessionSandboxDeps,
  { sandbox, start, strength, reads, reached }: Networked,
): Promise<SandboxEntry> {
  const { roots, readRoots, env } = deps;
  const [home = deps.home] = await realRoots([deps.home]);
  const places = {
    roots,
    secrets: await realPaths([...secretPaths({ home: deps.home, env }), ...(deps.ownHome ? [deps.ownHome] : [])]),
    protected: await protectedPaths({ roots, home }),
    tools: [...(await realRoots((env["PATH"] ?? "").split(delimiter).filter((one) => isAbsolute(one)))), ...readRoots],
    named: reads,
    temporary: await deps.temporary.open(),
  };
  return await sandbox.enter(start, limitsFor({ strength, places, network: reached }));
}

/** Where they lead; what is not there yet, or can't be looked at, by its name. */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolveReal(path, "/")));
  return [...new Set(resolved.map((one, index) => (one.kind === "real" ? one.path : (paths[index] ?? "/"))))];
}

import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Compiled once for the whole test run, not once for each home. */
const cache = join(resolve(tmpdir(), "../.."), "compiled");
export const compiledOnce = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: cache };

const launcher = resolve(import.meta.dirname, "../../../bin/palimpsest");

export interface Said {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Calling {
  readonly home: string;
  readonly cwd?: string;
  /** In blocks of the shell's `ulimit -f`. */
  readonly fileBlocksMax?: number;
  /** For `ulimit -n`. */
  readonly openFilesMax?: number;
  /** Another user, and a command that starts the process with fewer rights: see `bound-by-permissions.ts`. */
  readonly uid?: number;
  readonly startedBy?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** By which a script finds the sources of our packages; the launcher does that by itself. */
export const sourceFlag = "--conditions=@palimpsest/source";

/** Runs `bin/palimpsest` as a process of its own. Where a test is not about the process, `called` is much faster. */
export function palimpsest(calling: Calling, ...args: readonly string[]): Promise<Said> {
  return runNode(calling, launcher, ...args);
}

export function runNode(calling: Calling, ...args: readonly string[]): Promise<Said> {
  const limits = [
    ...(calling.fileBlocksMax === undefined ? [] : [`ulimit -f ${calling.fileBlocksMax}`]),
    ...(calling.openFilesMax === undefined ? [] : [`ulimit -n ${calling.openFilesMax}`]),
  ];
  const started = [
    ...(calling.startedBy ?? []),
    process.execPath,
    ...(args[0] === launcher ? [] : [sourceFlag]),
    ...args,
  ];
  const [file = "", ...all] =
    limits.length === 0 ? started : ["/bin/sh", "-c", `${limits.join("; ")}; exec "$@"`, "sh", ...started];
  const options = {
    ...callingEnvironment(calling),
    encoding: "utf8",
    maxBuffer: 256 * 2 ** 20,
    ...(calling.uid === undefined ? {} : { uid: calling.uid }),
  } as const;
  return new Promise((done) => {
    const child = execFile(file, all, options, (_error, out, err) =>
      done({ code: child.exitCode, signal: child.signalCode, out, err }),
    );
    // Nobody types: who waits for words through the pipe need not.
    child.stdin?.end();
  });
}

export const callingEnvironment = ({ home, cwd = resolve(home, ".."), env }: Calling) => ({
  env: { ...process.env, COLUMNS: "", ...compiledOnce, PALIMPSEST_HOME: home, ...env },
  cwd,
});

/** Runs a script of `child/` and gives the JSON that its last line of output is. */
export async function runScript<Figures>(
  calling: Calling,
  script: string,
  ...args: readonly string[]
): Promise<Figures> {
  const said = await runNode(calling, join(import.meta.dirname, "..", "child", script), ...args);
  if (said.code !== 0) throw new Error(`${script}: ${said.code} ${said.signal} ${said.err}`);
  return JSON.parse(said.out.trimEnd().split("\n").at(-1) ?? "") as Figures;
}

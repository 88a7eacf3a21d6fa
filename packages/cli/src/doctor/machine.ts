import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git";
import { runRipgrep } from "../tool/search/ripgrep.ts";
import { findShell } from "../tool/shell/find-shell.ts";
import type { CommandContext } from "../command.ts";
import { ownVersion } from "../version.ts";
import { type Check, failed, fine, warning } from "./check.ts";
import { columnsMin, diskBytesLow, diskBytesMin, nodeMajorMin, programMs } from "./limits.ts";

/** Programs, disk and terminal. */
export async function machineChecks(context: CommandContext, home: string): Promise<readonly Check[]> {
  return [
    versionCheck(),
    nodeCheck(process.versions.node),
    ...(await programChecks(context)),
    await diskCheck(home),
    terminalCheck(context),
  ];
}

const versionCheck = (): Check => fine("palimpsest", `${ownVersion()} on ${process.platform} ${process.arch}`);

export function nodeCheck(version: string): Check {
  const major = Number(version.split(".")[0]);
  if (major >= nodeMajorMin) return fine("node", version);
  const todo = `Install Node ${nodeMajorMin} or later.`;
  return failed("node", { says: `${version} is too old`, todo });
}

async function programChecks({ cwd, env }: CommandContext): Promise<readonly Check[]> {
  const shell = await findShell();
  const git = await versionOf("git", safeGitEnvironment(env));
  return [
    await ripgrepCheck(cwd),
    shell.kind === "bash"
      ? fine("shell", shell.path)
      : warning("shell", {
          says: `${shell.path}, as there is no bash`,
          todo: "Install bash: commands are written for it.",
        }),
    git === undefined
      ? warning("git", { says: "it does not run", todo: "Install git: projects are told apart by their repositories." })
      : fine("git", git),
  ];
}

async function ripgrepCheck(cwd: string): Promise<Check> {
  let version = "";
  const onPiece = (piece: string): "go-on" => {
    version ||= piece;
    return "go-on";
  };
  const signal = AbortSignal.timeout(programMs);
  const end = await runRipgrep({ args: ["--version"], cwd, signal, separator: "\n", onPiece });
  if (end.kind === "done" && version !== "") return fine("ripgrep", version);
  const says = end.kind === "failed" ? end.message : "it does not run";
  return failed("ripgrep", { says, todo: "Reinstall palimpsest: the package @vscode/ripgrep brings the program." });
}

const run = promisify(execFile);

async function versionOf(program: string, env: CommandContext["env"]): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, ["--version"], { env, timeout: programMs });
    return stdout.trim().split("\n")[0];
  } catch {
    return undefined;
  }
}

async function diskCheck(home: string): Promise<Check> {
  const free = await freeBytes(home);
  if (free === undefined) return warning("disk", { says: "nobody says how much is free" });
  return freeCheck(free);
}

export function freeCheck(free: number): Check {
  const says = `${humanBytes(free)} free`;
  if (free >= diskBytesLow) return fine("disk", says);
  const todo =
    "Make room: sessions can't be written to a full disk. `palimpsest sessions gc` deletes what nothing names.";
  return (free < diskBytesMin ? failed : warning)("disk", { says, todo });
}

/** Of the nearest folder above that is there. */
async function freeBytes(path: string): Promise<number | undefined> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await statfs(folder).catch(() => undefined);
    if (found !== undefined) return found.bavail * found.bsize;
    if (dirname(folder) === folder) return undefined;
  }
}

function terminalCheck({ out, env, stdin }: CommandContext): Check {
  const isTerminal = out.isTerminal && "isTTY" in stdin && stdin.isTTY === true;
  if (!isTerminal) return fine("terminal", "none: the chat would be plain");
  const colour = out.style("bold", "") === "" ? "no colour" : "colour";
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  const says = `${env["TERM"] ?? "TERM is not set"}, ${out.columns ?? "unknown"} columns, ${colour}, ${locale || "no locale"}`;
  if ((out.columns ?? columnsMin) < columnsMin)
    return warning("terminal", { says, todo: `Make it ${columnsMin} columns wide or wider.` });
  if (!/utf-?8/i.test(locale) && process.platform !== "darwin")
    return warning("terminal", { says, todo: "Set LANG to a UTF-8 locale, such as C.UTF-8." });
  return fine("terminal", says);
}

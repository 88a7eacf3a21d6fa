import { execFile } from "node:child_process";
import { statfs, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { runRipgrep } from "../tool/search/run-ripgrep.ts";
import { findShell } from "../tool/shell/bash-tool.ts";
import type { CommandContext } from "../program/command.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { type Check, failingCheck, okCheck, warningCheck } from "./check.ts";
import { columnsMin, diskBytesLow, diskBytesMin, nodeMajorMin, programMs } from "./limits.ts";
import { tmpdir } from "node:os";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { SandboxMode } from "palimpsest/internal/schema/setting-table";
import { findSandbox, chooseSandboxUse } from "../tool/sandbox/find-sandbox.ts";

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

const versionCheck = (): Check => okCheck("palimpsest", `${readOwnVersion()} on ${process.platform} ${process.arch}`);

export function nodeCheck(version: string): Check {
  const major = Number(version.split(".")[0]);
  if (major >= nodeMajorMin) return okCheck("node", version);
  const todo = `Install Node ${nodeMajorMin} or later.`;
  return failingCheck("node", { says: `${version} is too old`, todo });
}

async function programChecks({ cwd, env }: CommandContext): Promise<readonly Check[]> {
  const shell = await findShell();
  const git = await programVersion("git", safeGitEnvironment(env));
  return [
    await ripgrepCheck(cwd),
    shell.kind === "bash"
      ? okCheck("shell", shell.path)
      : warningCheck("shell", {
          says: `${shell.path}, as there is no bash`,
          todo: "Install bash: commands are written for it.",
        }),
    git === undefined
      ? warningCheck("git", {
          says: "it does not run",
          todo: "Install git: projects are told apart by their repositories.",
        })
      : okCheck("git", git),
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
  if (end.kind === "done" && version !== "") return okCheck("ripgrep", version);
  const says = end.kind === "failed" ? end.message : "it does not run";
  return failingCheck("ripgrep", {
    says,
    todo: "Reinstall palimpsest: the package @vscode/ripgrep brings the program.",
  });
}

const run = promisify(execFile);

async function programVersion(program: string, env: CommandContext["env"]): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, ["--version"], { env, timeout: programMs });
    return stdout.trim().split("\n")[0];
  } catch {
    return undefined;
  }
}

async function diskCheck(home: string): Promise<Check> {
  const free = await freeBytes(home);
  if (free === undefined) return warningCheck("disk", { says: "the free space is unknown" });
  return freeCheck(free);
}

export function freeCheck(free: number): Check {
  const says = `${formatBytes(free)} free`;
  if (free >= diskBytesLow) return okCheck("disk", says);
  const todo =
    "Make room: sessions can't be written to a full disk. `palimpsest sessions gc` deletes what nothing names.";
  return (free < diskBytesMin ? failingCheck : warningCheck)("disk", { says, todo });
}

/** Of the nearest existing folder above. */
async function freeBytes(path: string): Promise<number | undefined> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await statfs(folder).catch(() => undefined);
    if (found !== undefined) return found.bavail * found.bsize;
    if (dirname(folder) === folder) return undefined;
  }
}

function terminalCheck({ out, env, stdin }: CommandContext): Check {
  const isTerminal = out.isTerminal && "isTTY" in stdin && stdin.isTTY === true;
  if (!isTerminal) return okCheck("terminal", "none: the chat would be plain");
  const colour = out.style("bold", "") === "" ? "no colour" : "colour";
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  const says = `${env["TERM"] ?? "TERM is not set"}, ${out.columns ?? "unknown"} columns, ${colour}, ${locale || "no locale"}`;
  if ((out.columns ?? columnsMin) < columnsMin)
    return warningCheck("terminal", { says, todo: `Make it ${columnsMin} columns wide or wider.` });
  if (!/utf-?8/i.test(locale) && process.platform !== "darwin")
    return warningCheck("terminal", { says, todo: "Set LANG to a UTF-8 locale, such as C.UTF-8." });
  return okCheck("terminal", says);
}

/** Tries the sandbox out, with a folder that is removed afterwards: a check changes nothing. */
export async function withSandbox<Result>(
  { env }: CommandContext,
  use: (found: SandboxSearchOutcome) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-doctor-"));
  try {
    return await use(await findSandbox({ env, folder }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Which sandbox commands run in, or why there is none and what to do about it. */
export function sandboxCheck(mode: SandboxMode, found: SandboxSearchOutcome): Check {
  const use = chooseSandboxUse(mode, found);
  switch (use.kind) {
    case "held":
      return okCheck("sandbox", `${use.sandbox.system}: commands run inside it`);
    case "refused":
      return failingCheck("sandbox", { says: `required, and there is none: ${use.why}`, todo: asSentence(use.remedy) });
    case "unheld":
      return use.because === "off"
        ? warningCheck("sandbox", { says: "turned off: commands may do what you may do", todo: turnOn })
        : warningCheck("sandbox", { says: `none: ${use.why}`, todo: asSentence(use.remedy) });
  }
}

const turnOn = "Take `sandbox` out of your settings and PALIMPSEST_SANDBOX out of the environment.";

const asSentence = (remedy: string): string => `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`;

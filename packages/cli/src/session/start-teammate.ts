import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CommandContext } from "../program/command.ts";
import type { StartTeammate } from "../team/team-control.ts";

type GivenOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * Starts teammates as processes of this program, with the options of the leader's own command line. Each has a process
 * group of its own, so that it outlives a leader that is killed and ends together with its commands.
 */
export function createTeammateStarter({ env, cwd }: CommandContext, options: GivenOptions): StartTeammate {
  const launcher = fileURLToPath(new URL("../../bin/palimpsest", import.meta.url));
  const passedOn = toArguments(options);
  return ({ team, name, output, onEnd }) => {
    const child = spawn(process.execPath, [launcher, "agents", "serve", "--team", team, "--name", name, ...passedOn], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", output, output],
    });
    // A failed start has no exit.
    child.once("error", (error) => onEnd(error.message));
    child.once("exit", (code, signal) => onEnd(signal ?? `exit code ${code ?? 0}`));
    child.unref();
  };
}

/** Those that a leader and a teammate share. */
const toArguments = (options: GivenOptions): readonly string[] =>
  Object.entries(options).flatMap(([name, value]) => {
    if (ofLeaderAlone.has(name) || value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return (typeof value === "string" ? [value] : value).map((text) => `--${name}=${text}`);
  });

/** About the leader's own session and screen. */
const ofLeaderAlone: ReadonlySet<string> = new Set([
  "print",
  "no-tui",
  "output-format",
  "continue",
  "resume",
  "fork",
  "team",
  "name",
  "socket",
]);

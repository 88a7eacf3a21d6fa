import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProgramStart } from "palimpsest/internal/ports/sandbox";
import { setNodeVariablesAside } from "./proxy-environment.ts";

interface BridgeOptions {
  /** The folder of the pipes to the proxy, as seen inside the sandbox. */
  readonly folder: string;
}

/**
 * Starts a program behind a bridge: a small program of ours that runs in the same sandbox, listens on loopback, passes
 * every connection to the proxy, announces the proxy in the program's environment, and exits like the program.
 */
export const startBehindBridge = (start: ProgramStart, { folder }: BridgeOptions): ProgramStart => ({
  program: process.execPath,
  args: [...nodeFlags, script, folder, start.program, ...start.args],
  cwd: start.cwd,
  env: setNodeVariablesAside(start.env),
});

/** The bridge must not print anything itself, and no signal may turn on its debugger. */
const nodeFlags: readonly string[] = ["--no-warnings", "--disable-sigusr1"];

/** A checkout has the sources, the published package the built files. */
const script = fileURLToPath(
  new URL(`./bridge-script.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
);

/** The folders that the bridge needs, wherever they are installed: this Node, and this package. */
export const bridgeFolders: readonly string[] = [dirname(process.execPath), resolve(dirname(script), "../../../..")];

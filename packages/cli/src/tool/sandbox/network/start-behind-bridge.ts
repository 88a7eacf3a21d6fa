import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProgramStart } from "palimpsest/internal/ports/sandbox";
import { setNodeVariablesAside } from "./proxy-environment.ts";

interface BridgeOptions {
  /** With the pipes to the proxy, as it is seen inside the sandbox. */
  readonly folder: string;
}

/**
 * The start of a program behind a bridge: a small program of ours that runs in the same sandbox, listens on loopback,
 * hands every connection to the proxy, tells the program of the proxy by its environment, and ends as it ends.
 */
export const startBehindBridge = (start: ProgramStart, { folder }: BridgeOptions): ProgramStart => ({
  program: process.execPath,
  args: [...nodeFlags, script, folder, start.program, ...start.args],
  cwd: start.cwd,
  env: setNodeVariablesAside(start.env),
});

/** It says nothing that its program did not say, and no signal makes a debugger of it. */
const nodeFlags: readonly string[] = ["--no-warnings", "--disable-sigusr1"];

/** A checkout has the sources, the published package what was built from them. */
const script = fileURLToPath(
  new URL(`./bridge-script.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
);

/** What the bridge is made of, wherever that is installed: this Node, and this package. */
export const bridgeFolders: readonly string[] = [dirname(process.execPath), resolve(dirname(script), "../../../..")];

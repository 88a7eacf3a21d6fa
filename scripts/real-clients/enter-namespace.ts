import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { knownVersion, type RealClient } from "./client.ts";
import { realClients } from "./clients.ts";
import { install } from "./install.ts";
import { loopbackOnly } from "./namespace.ts";

/** A client in a version. */
export interface ClientChoice {
  readonly client: RealClient;
  readonly version: string;
}

/** Words such as `pi` or `pi@latest`; undefined if one of them names no client. */
export function parseClients(words: readonly string[]): readonly ClientChoice[] | undefined {
  const choices = words.map((word) => {
    const [name, version] = word.split("@");
    const client = realClients.find((known) => known.name === name);
    return client === undefined ? undefined : { client, version: version ?? knownVersion(client) };
  });
  return choices.every((choice) => choice !== undefined) ? choices : undefined;
}

/**
 * Installs the clients, and starts the script again with `--into <folder>` in a network namespace: npm needs the network
 * that the clients must not have. Returns the exit code.
 */
export async function installAndEnter(
  choices: readonly ClientChoice[],
  { script, openNetwork, keep }: { readonly script: string; readonly openNetwork: boolean; readonly keep: boolean },
): Promise<number> {
  const namespace = openNetwork ? [] : loopbackOnly();
  if (namespace === undefined) {
    console.error("This machine allows no network namespace (unshare, ip), so clients could reach the internet.");
    console.error("With --open-network they are run all the same.");
    return 2;
  }
  if (namespace.length === 0) console.error("Without a network namespace: the clients can reach the internet.");
  for (const { client, version } of choices) {
    console.error(`installing ${client.name} ${version}`);
    await install(client, version);
  }
  const folder = await mkdtemp(join(tmpdir(), "real-clients-"));
  try {
    const words: readonly string[] = [
      ...namespace,
      process.execPath,
      ...process.execArgv,
      script,
      ...process.argv.slice(2),
      "--into",
      folder,
    ];
    const [program = "", ...args] = words;
    return spawnSync(program, args, { stdio: "inherit" }).status ?? 1;
  } finally {
    if (keep) console.error(`kept: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

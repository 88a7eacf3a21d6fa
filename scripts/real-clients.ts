import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { claudeCode } from "./real-clients/claude-code.ts";
import type { RealClient } from "./real-clients/client.ts";
import { install, installedVersion, programOf } from "./real-clients/install.ts";
import { loopbackOnly } from "./real-clients/namespace.ts";
import { opencode } from "./real-clients/opencode.ts";
import { pi } from "./real-clients/pi.ts";
import { type Row, reportText } from "./real-clients/report.ts";
import { runClient } from "./real-clients/run.ts";
import { verdictOf } from "./real-clients/verdict.ts";

/**
 * `node scripts/real-clients.ts [client[@version]…]`: installs agents from npm outside the repository and lets each run
 * one shell command against the simulator, where it can reach nothing else. Prints what was seen; exits 1 where something
 * is wrong, 2 where it could not be tried. Two steps, because npm needs the network that the agents must not have:
 *
 *   install all → again with --installed <folder>, behind the wall → run each → table
 */
const clients: readonly RealClient[] = [pi, opencode, claudeCode];
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "open-network": { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    installed: { type: "string" },
  },
});

process.exitCode = await main(positionals.length > 0 ? positionals : clients.map(({ name }) => name));

interface Asked {
  readonly client: RealClient;
  readonly version: string;
}

async function main(words: readonly string[]): Promise<number> {
  const asked = words.flatMap(askedFor);
  if (asked.length === words.length)
    return options.installed === undefined ? installAll(asked) : runAll(asked, options.installed);
  console.error(`There are these clients: ${clients.map(({ name }) => name).join(", ")}.`);
  return 2;
}

function askedFor(word: string): readonly Asked[] {
  const [name, version] = word.split("@");
  return clients
    .filter((client) => client.name === name)
    .map((client) => ({ client, version: version ?? client.version }));
}

async function installAll(asked: readonly Asked[]): Promise<number> {
  const wall = options["open-network"] ? [] : loopbackOnly();
  if (wall === undefined) {
    console.error("This machine allows no network namespace (unshare, ip), so agents could reach the internet.");
    console.error("With --open-network they are run all the same.");
    return 2;
  }
  if (wall.length === 0) console.error("Without a network namespace: the agents can reach the internet.");
  const folder = await mkdtemp(join(tmpdir(), "real-clients-"));
  try {
    for (const { client, version } of asked) {
      console.error(`installing ${client.package}@${version}`);
      await install(client, { folder: join(folder, client.name), version });
    }
    const [program = "", ...args] = [
      ...wall,
      process.execPath,
      import.meta.filename,
      "--installed",
      folder,
      ...positionals,
    ];
    return spawnSync(program, args, { stdio: "inherit" }).status ?? 1;
  } finally {
    if (options.keep) console.error(`kept: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

async function runAll(asked: readonly Asked[], folder: string): Promise<number> {
  const rows: Row[] = [];
  for (const { client } of asked) {
    const installed = join(folder, client.name);
    const version = await installedVersion(client, installed);
    const program = programOf(client, installed);
    for (const wanted of client.models) {
      const run = await runClient({ client, model: wanted, program, folder: join(installed, wanted) });
      const { wallMillis, stderr, trace } = run;
      const verdict = verdictOf(run);
      const model = trace.requests.at(-1)?.model ?? wanted;
      rows.push({ client: client.name, version, model, wallMillis, ...verdict });
      if (verdict.problems.length > 0) console.error(stderr.slice(-2_000));
    }
  }
  process.stdout.write(reportText(rows));
  return rows.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

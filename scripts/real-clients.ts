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
 * `node scripts/real-clients.ts [client[@version]…]`: installs agents from npm outside the repository, and lets each run one
 * shell command against the simulator, without access to any other host. Prints a table; exits with 1 if something is wrong,
 * and with 2 if it could not be tried. Two steps, because npm needs the network that the agents must not have:
 *
 *   install all → start again with --installed <folder>, in a network namespace → run each → table
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

interface ClientRequest {
  readonly client: RealClient;
  readonly version: string;
}

async function main(words: readonly string[]): Promise<number> {
  const requests = words.flatMap(parseClient);
  if (requests.length === words.length)
    return options.installed === undefined ? installAll(requests) : runAll(requests, options.installed);
  console.error(`There are these clients: ${clients.map(({ name }) => name).join(", ")}.`);
  return 2;
}

function parseClient(word: string): readonly ClientRequest[] {
  const [name, version] = word.split("@");
  return clients
    .filter((client) => client.name === name)
    .map((client) => ({ client, version: version ?? client.version }));
}

async function installAll(requests: readonly ClientRequest[]): Promise<number> {
  const namespace = options["open-network"] ? [] : loopbackOnly();
  if (namespace === undefined) {
    console.error("This machine allows no network namespace (unshare, ip), so agents could reach the internet.");
    console.error("With --open-network they are run all the same.");
    return 2;
  }
  if (namespace.length === 0) console.error("Without a network namespace: the agents can reach the internet.");
  const folder = await mkdtemp(join(tmpdir(), "real-clients-"));
  try {
    for (const { client, version } of requests) {
      console.error(`installing ${client.package}@${version}`);
      await install(client, { folder: join(folder, client.name), version });
    }
    const [program = "", ...args] = [
      ...namespace,
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

async function runAll(requests: readonly ClientRequest[], folder: string): Promise<number> {
  const rows: Row[] = [];
  for (const { client } of requests) {
    const installed = join(folder, client.name);
    const version = await installedVersion(client, installed);
    const program = programOf(client, installed);
    for (const requestedModel of client.models) {
      const run = await runClient({ client, model: requestedModel, program, folder: join(installed, requestedModel) });
      const { wallMillis, stderr, trace } = run;
      const verdict = verdictOf(run);
      const model = trace.requests.at(-1)?.model ?? requestedModel;
      rows.push({ client: client.name, version, model, wallMillis, ...verdict });
      if (verdict.problems.length > 0) console.error(stderr.slice(-2_000));
    }
  }
  process.stdout.write(reportText(rows));
  return rows.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

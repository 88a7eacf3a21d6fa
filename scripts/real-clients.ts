import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkClient } from "./real-clients/check-client.ts";
import { realClients } from "./real-clients/clients.ts";
import { type ClientChoice, installAndEnter, parseClients } from "./real-clients/enter-namespace.ts";
import { installFolder } from "./real-clients/install.ts";
import { formatReport, type Row } from "./real-clients/report.ts";
import { type RunKind, runKinds } from "./real-clients/scenario.ts";
import { judgeRun } from "./real-clients/verdict.ts";

/**
 * `node scripts/real-clients.ts [client[@version]…] [--run kind]… [--rounds n]`: installs clients from npm outside the
 * repository, and gives each a task against the simulator, without access to any other host. Prints a table; exits with
 * 1 if something is wrong, and with 2 if it could not be tried. Two steps, because npm needs the network that the
 * clients must not have:
 *
 *   install all → start again with --into <folder>, in a network namespace → run each → table
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    run: { type: "string", multiple: true },
    rounds: { type: "string" },
    "open-network": { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    into: { type: "string" },
  },
});

process.exitCode = await main(positionals.length > 0 ? positionals : realClients.map(({ name }) => name));

async function main(words: readonly string[]): Promise<number> {
  const choices = parseClients(words);
  const kinds = runKinds.filter((kind) => options.run === undefined || options.run.includes(kind));
  if (choices === undefined || kinds.length === 0) {
    console.error(`There are these clients: ${realClients.map(({ name }) => name).join(", ")};`);
    console.error(`and these runs: ${runKinds.join(", ")}.`);
    return 2;
  }
  const { into, keep, "open-network": openNetwork } = options;
  return into === undefined
    ? installAndEnter(choices, { script: import.meta.filename, openNetwork, keep })
    : runAll(choices, { kinds, folder: into });
}

async function runAll(
  choices: readonly ClientChoice[],
  { kinds, folder: into }: { readonly kinds: readonly RunKind[]; readonly folder: string },
): Promise<number> {
  const rows: Row[] = [];
  for (const { client, version } of choices)
    for (const [at, asked] of client.models.entries())
      for (const kind of kinds) {
        // Another model sends another request; what comes after a fault or a full window is the same.
        if (at > 0 && kind !== "turn") continue;
        const folder = join(into, client.name, asked, kind);
        const installed = installFolder(client, version);
        const rounds = options.rounds === undefined ? undefined : Number(options.rounds);
        const run = await checkClient({ client, model: asked, kind, installed, folder, rounds });
        const { wallMillis, stdout, stderr, trace } = run;
        const verdict = judgeRun({ client, kind, run });
        const model = trace.requests.at(-1)?.model ?? asked;
        rows.push({ client: client.name, version, model, kind, wallMillis, ...verdict });
        console.error(`${verdict.problems.length === 0 ? "✓" : "✗"} ${client.name}, ${model}, ${kind}`);
        if (verdict.problems.length > 0) console.error(`${stdout.slice(-1_000)}\n${stderr.slice(-1_000)}`);
      }
  process.stdout.write(formatReport(rows));
  return rows.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

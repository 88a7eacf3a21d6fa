import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { judgeLongRun, type LongRow } from "./gateway-clients/judge-long-run.ts";
import { formatLongRows } from "./gateway-clients/long-report.ts";
import { runLongTask, type Way, wayNames } from "./gateway-clients/run-long-task.ts";
import { realClients } from "./real-clients/clients.ts";
import { type ClientChoice, installAndEnter, parseClients } from "./real-clients/enter-namespace.ts";
import { installFolder } from "./real-clients/install.ts";

/**
 * `node scripts/gateway-clients.ts [client[@version]…] [--way gateway|alone|own]… [--rounds n] [--model name]
 * [--rows file] [--record folder]`: gives real clients a long task in a small window, through the gateway and without it.
 * Prints a table; exits with 1 if the gateway did not carry a client through, and with 2 if it could not be tried. `--rows`
 * appends a line of JSON for each run, from which gateway-clients-doc.ts writes the page. `--record` writes what each client
 * sends: it holds the vendors' prompts and stays outside of the repository.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    way: { type: "string", multiple: true },
    rounds: { type: "string", default: "310" },
    model: { type: "string" },
    rows: { type: "string" },
    record: { type: "string" },
    "open-network": { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    into: { type: "string" },
  },
});

process.exitCode = await main(positionals.length > 0 ? positionals : realClients.map(({ name }) => name));

async function main(words: readonly string[]): Promise<number> {
  const choices = parseClients(words);
  const ways = wayNames.filter((way) => options.way === undefined || options.way.includes(way));
  if (choices === undefined || ways.length === 0) {
    console.error(`There are these clients: ${realClients.map(({ name }) => name).join(", ")};`);
    console.error(`and these ways: ${wayNames.join(", ")}.`);
    return 2;
  }
  const { into, keep, "open-network": openNetwork } = options;
  return into === undefined
    ? installAndEnter(choices, { script: import.meta.filename, openNetwork, keep })
    : runAll(choices, { ways, into });
}

async function runAll(
  choices: readonly ClientChoice[],
  { ways, into }: { readonly ways: readonly Way[]; readonly into: string },
): Promise<number> {
  const rows: LongRow[] = [];
  for (const { client, version } of choices)
    for (const way of ways) {
      if (way === "own" && client.smallWindowTokens === undefined) continue;
      const [known] = client.models;
      const model = options.model ?? known;
      const run = await runLongTask({
        client,
        model,
        way,
        rounds: Number(options.rounds),
        installed: installFolder(client, version),
        folder: join(into, client.name, way),
        record: options.record === undefined ? undefined : join(options.record, `${client.name}.jsonl`),
      });
      const row = judgeLongRun({ client, version, model, way, rounds: Number(options.rounds), run });
      rows.push(row);
      if (options.rows !== undefined) appendFileSync(options.rows, `${JSON.stringify(row)}\n`);
      console.error(`${row.problems.length === 0 ? "✓" : "✗"} ${client.name}, ${way}: ${JSON.stringify(row)}`);
      if (row.problems.length > 0) console.error(`${run.stdout.slice(-1_000)}\n${run.stderr.slice(-1_000)}`);
    }
  process.stdout.write(formatLongRows(rows));
  return rows.some(({ way, problems }) => way === "gateway" && problems.length > 0) ? 1 : 0;
}

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseJson, textField, isObject } from "../packages/palimpsest/src/schema/json.ts";
import { knownVersion } from "./real-clients/client.ts";
import { realClients } from "./real-clients/clients.ts";
import { normaliseRecording, recordedLine } from "./gateway-clients/normalise-recording.ts";

/**
 * `node scripts/gateway-clients-fixtures.ts <folder>`: makes the fixtures of test/scenario/gateway-clients.test.ts of
 * what `gateway-clients.ts --record <folder> --rounds 10 --way gateway` recorded.
 */
const fixtures = resolve(import.meta.dirname, "../test/fixture/gateway-clients");

for (const file of readdirSync(process.argv[2] ?? ".").filter((name) => name.endsWith(".jsonl"))) {
  const name = basename(file, ".jsonl");
  const client = realClients.find((known) => known.name === name);
  if (client === undefined) continue;
  const lines = readFileSync(join(process.argv[2] ?? ".", file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => recordedLine.parse(parseJson(line)));
  const body = parseJson(lines.at(-1)?.body ?? "null");
  const model = (isObject(body) ? textField(body, "model") : undefined) ?? "";
  const recorded = normaliseRecording({ client: name, version: knownVersion(client), model }, lines);
  writeFileSync(join(fixtures, `${name}.json`), `${JSON.stringify(recorded)}\n`);
}

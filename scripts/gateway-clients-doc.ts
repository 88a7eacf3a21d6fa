import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { formatNumber } from "../packages/cli/src/text/format.ts";
import { parseJson } from "../packages/palimpsest/src/schema/json.ts";
import { filledPage, type Row } from "./doc-tables.ts";
import { longRow, type LongRow } from "./gateway-clients/judge-long-run.ts";
import { formatCost } from "./gateway-clients/long-report.ts";

/** `node scripts/gateway-clients-doc.ts <rows>…`: writes the tables of docs/gateway-clients.md; the newest row of a run counts. A table without rows stays. */
const page = resolve(import.meta.dirname, "../docs/gateway-clients.md");

const rows = new Map<string, LongRow>();
for (const file of process.argv.slice(2))
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const row = longRow.parse(parseJson(line));
    rows.set(`${row.client} ${row.model} ${row.way}`, row);
  }

const ofWay = (way: LongRow["way"]): readonly LongRow[] => [...rows.values()].filter((row) => row.way === way);

const through: readonly Row[] = [
  [
    "client",
    "version",
    "model",
    "finished",
    "requests",
    "refused",
    "failed open",
    "conversations",
    "edits",
    "largest prompt",
    "input tokens",
    "from the cache",
    "cost",
  ],
  ...ofWay("gateway").map((row) => [
    row.client,
    row.version,
    row.model,
    row.finished ? "yes" : "no",
    formatNumber(row.requests),
    formatNumber(row.refused),
    formatNumber(row.gateway?.failedOpen ?? 0),
    row.gateway?.conversations.join(" + ") ?? "",
    formatNumber(row.gateway?.edits ?? 0),
    formatNumber(row.promptTokensMax),
    formatNumber(row.inputTokens),
    formatShare(row),
    formatCost(row),
  ]),
];

const without: readonly Row[] = [
  [
    "client",
    "compaction off",
    "at request",
    "its own compaction",
    "requests",
    "refused",
    "window",
    "input tokens",
    "from the cache",
    "cost",
  ],
  ...ofWay("alone").map((row) => [
    row.client,
    row.finished ? "finished" : "ends",
    formatNumber(row.requests),
    ...ownCells([...ofWay("own")].find(({ client, model }) => client === row.client && model === row.model)),
  ]),
];

const tables = { ...(through.length > 1 ? { through } : {}), ...(without.length > 1 ? { without } : {}) };
writeFileSync(page, filledPage(readFileSync(page, "utf8"), tables));

function ownCells(row: LongRow | undefined): Row {
  if (row === undefined) return ["has none", "", "", "", "", "", ""];
  return [
    row.finished ? "finished" : "ends",
    formatNumber(row.requests),
    formatNumber(row.refused),
    formatNumber(row.windowTokens),
    formatNumber(row.inputTokens),
    formatShare(row),
    formatCost(row),
  ];
}

function formatShare({ readTokens, inputTokens }: LongRow): string {
  return inputTokens === 0 ? "" : `${Math.round((100 * readTokens) / inputTokens)} %`;
}

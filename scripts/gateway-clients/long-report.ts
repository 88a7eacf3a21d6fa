import { formatNumber } from "../../packages/cli/src/text/format.ts";
import { table } from "../../packages/cli/src/text/table.ts";
import type { LongRow } from "./judge-long-run.ts";

const columns = [
  { title: "client" },
  { title: "way" },
  { title: "finished" },
  { title: "requests", align: "right" },
  { title: "refused", align: "right" },
  { title: "failed open", align: "right" },
  { title: "conversations" },
  { title: "edits", align: "right" },
  { title: "input tokens", align: "right" },
  { title: "read", align: "right" },
  { title: "cost", align: "right" },
  { title: "wall", align: "right" },
] as const;

export const formatLongRows = (rows: readonly LongRow[]): string =>
  table(columns, rows.map(cells)) +
  rows.flatMap(({ client, way, problems }) => problems.map((problem) => `✗ ${client}, ${way}: ${problem}\n`)).join("");

const cells = (row: LongRow): readonly string[] => [
  row.client,
  row.way,
  row.finished ? "yes" : "no",
  String(row.requests),
  String(row.refused),
  String(row.gateway?.failedOpen ?? ""),
  row.gateway?.conversations.join(" + ") ?? "",
  String(row.gateway?.edits ?? ""),
  formatNumber(row.inputTokens),
  formatNumber(row.readTokens),
  formatCost(row),
  `${(row.wallMillis / 1000).toFixed(1)} s`,
];

/** The prices of some models are not known. */
export const formatCost = ({ costUsd }: LongRow): string => (costUsd === 0 ? "not known" : `$${costUsd.toFixed(2)}`);

import { formatNumber } from "../../packages/cli/src/text/format.ts";
import { table } from "../../packages/cli/src/text/table.ts";
import type { RunKind } from "./scenario.ts";
import type { Verdict } from "./verdict.ts";

export interface Row extends Verdict {
  readonly client: string;
  readonly version: string;
  readonly model: string;
  readonly kind: RunKind;
  readonly wallMillis: number;
}

/** A table with a row for each run, and the problems below it. */
export const formatReport = (rows: readonly Row[]): string =>
  table(columns, rows.map(cells)) + rows.flatMap(problemLines).join("");

const columns = [
  { title: "client" },
  { title: "version" },
  { title: "model" },
  { title: "run" },
  { title: "requests", align: "right" },
  { title: "refused", align: "right" },
  { title: "compactions", align: "right" },
  { title: "read", align: "right" },
  { title: "written", align: "right" },
  { title: "cost", align: "right" },
  { title: "wall", align: "right" },
] as const;

const cells = (row: Row): readonly string[] => [
  row.client,
  row.version,
  row.model,
  row.kind,
  String(row.requests),
  String(row.refused),
  String(row.compactions),
  formatNumber(row.readTokens),
  formatNumber(row.writtenTokens),
  row.costUsd === 0 ? "not known" : `$${row.costUsd.toFixed(4)}`,
  `${(row.wallMillis / 1000).toFixed(1)} s`,
];

const problemLines = ({ client, model, kind, problems }: Row): readonly string[] =>
  problems.map((problem) => `✗ ${client}, ${model}, ${kind}: ${problem}\n`);

import { isObject, type JsonObject, parseJson } from "../packages/palimpsest/src/schema/json.ts";
import type { Figure } from "./measure.ts";

/** The results of one case. Cases of a file may come from different runs, so each has its own conditions. */
export interface StoredCase {
  readonly conditions: Readonly<Record<string, string>>;
  readonly figures: readonly Figure[];
}

/** The file's text with the results of this run; cases that were not run keep their old results. */
export function withCases(stored: string | undefined, ran: Readonly<Record<string, StoredCase>>): string {
  return `${JSON.stringify({ cases: { ...casesIn(stored), ...ran } }, undefined, 2)}\n`;
}

function casesIn(stored: string | undefined): JsonObject {
  const file = stored === undefined ? undefined : parseJson(stored);
  const cases = isObject(file) ? file["cases"] : undefined;
  return isObject(cases) ? cases : {};
}

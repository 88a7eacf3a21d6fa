import { field, isObject, type Json } from "../schema/json.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { gemini } from "./gemini.ts";
import type { Importer, LogFormat, ImportDeps, ImportedFormat, Translation } from "./importer.ts";
import { headValues } from "./read-lines.ts";
import { openhands } from "./openhands.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { sweAgent } from "./swe-agent.ts";
import { headBytes } from "./limits.ts";

export const importers: readonly Importer[] = [codex, pi, opencode, copilot, gemini, sweAgent, openhands];

/** The format of a file, by the content of its first `headBytes`; undefined where it is none that we know. */
export function detectFormat(head: string): LogFormat | undefined {
  const values = headValues(head);
  // First: only its entries have both a type and a place in a chain, whatever their messages hold.
  if (values.some((value) => isEcosystemEntry(value))) return "claude-code";
  return importers.find((importer) => importer.detect(values))?.format;
}

const isEcosystemEntry = (value: Json): boolean => {
  if (!isObject(value) || typeof field(value, "type") !== "string") return false;
  const isInChain = typeof field(value, "uuid") === "string" && "parentUuid" in value;
  const isBeside = "leafUuid" in value || (typeof field(value, "sessionId") === "string" && !("projectHash" in value));
  const isSnapshot = value["type"] === "file-history-snapshot";
  return isInChain || isBeside || isSnapshot;
};

export interface TranslateInput {
  readonly text: string;
  /** Found by content where it is not given. */
  readonly format?: LogFormat;
  readonly deps: ImportDeps;
}

export type TranslateOutcome =
  | ({ readonly kind: "translated"; readonly format: ImportedFormat } & Translation)
  /** The ecosystem's own form: to be read as it is. */
  | { readonly kind: "as-it-is"; readonly format: "claude-code" }
  | { readonly kind: "unknown" };

/** Another agent's session in the ecosystem's form. */
export function translateLog({ text, format, deps }: TranslateInput): TranslateOutcome {
  const known = format ?? detectFormat(text.slice(0, headBytes));
  if (known === undefined) return { kind: "unknown" };
  if (known === "claude-code") return { kind: "as-it-is", format: known };
  const importer = importers.find((one) => one.format === known);
  return importer === undefined
    ? { kind: "unknown" }
    : { kind: "translated", format: known, ...importer.translate(text, deps) };
}

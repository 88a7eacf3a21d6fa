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

/** The format of a file, detected from its first `headBytes`; undefined if it is unknown. */
export function detectFormat(head: string): LogFormat | undefined {
  const values = headValues(head);
  // Checked first: only these entries have both a type and a position in a chain, whatever their messages contain.
  if (values.some((value) => isEcosystemEntry(value))) return "claude-code";
  return importers.find((importer) => importer.detect(values))?.format;
}

const isEcosystemEntry = (value: Json): boolean => {
  if (!isObject(value) || typeof field(value, "type") !== "string") return false;
  const isInChain = typeof field(value, "uuid") === "string" && "parentUuid" in value;
  const isOutsideChain =
    "leafUuid" in value || (typeof field(value, "sessionId") === "string" && !("projectHash" in value));
  const isSnapshot = value["type"] === "file-history-snapshot";
  return isInChain || isOutsideChain || isSnapshot;
};

export interface TranslateInput {
  readonly text: string;
  /** Detected from the content by default. */
  readonly format?: LogFormat;
  readonly deps: ImportDeps;
}

export type TranslateOutcome =
  | ({ readonly kind: "translated"; readonly format: ImportedFormat } & Translation)
  /** The ecosystem's own format, which is read without translation. */
  | { readonly kind: "as-it-is"; readonly format: "claude-code" }
  | { readonly kind: "unknown" };

/** Translates another agent's session into the ecosystem's format. */
export function translateLog({ text, format, deps }: TranslateInput): TranslateOutcome {
  const detected = format ?? detectFormat(text.slice(0, headBytes));
  if (detected === undefined) return { kind: "unknown" };
  if (detected === "claude-code") return { kind: "as-it-is", format: detected };
  const importer = importers.find((candidate) => candidate.format === detected);
  return importer === undefined
    ? { kind: "unknown" }
    : { kind: "translated", format: detected, ...importer.translate(text, deps) };
}

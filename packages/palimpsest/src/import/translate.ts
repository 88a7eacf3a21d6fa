import { detectFormat, importers } from "./detect.ts";
import type { ImportDeps, ImportedFormat, LogFormat, Translation } from "./importer.ts";
import { headBytes } from "./limits.ts";

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

import { importers } from "palimpsest/internal/import/detect";
import type { ImportNote, LogFormat } from "palimpsest/internal/import/importer";
import { humanCount } from "./human.ts";
import type { NamedLog } from "./named-log.ts";

/** For `--json`: present where the file had to be translated. */
export const importOf = ({ format, translated }: Pick<NamedLog, "format" | "translated">): object =>
  translated === undefined ? {} : { import: { format, notes: translated.notes } };

/** What the translation of another agent's file could not carry over, a line each. */
export function importText({ format, translated }: Pick<NamedLog, "format" | "translated">): string {
  if (translated === undefined) return "";
  return `${translatedText({ format, translated })}${translated.notes.map((note) => `${noteText(note)}\n`).join("")}`;
}

/** That it was translated, without what it did not carry. */
export const translatedText = ({ format, translated }: Pick<NamedLog, "format" | "translated">): string =>
  format === undefined || translated === undefined ? "" : `translated from a ${labelOf(format)}\n`;

export const noteText = ({ kind, count, detail }: ImportNote): string =>
  `note: ${kind} ×${humanCount(count)}: ${detail}`;

export const labelOf = (format: LogFormat): string =>
  importers.find((importer) => importer.format === format)?.label ?? "Claude Code transcript";

/** The public names of `palimpsest/import`: other agents' logs, recognised by their content and translated. */
export { detectFormat, importers } from "./detect-format.ts";
export type { ImportDeps, Importer, ImportedFormat, ImportNote, LogFormat, Translation } from "./importer.ts";
export { translateLog, type TranslateInput, type TranslateOutcome } from "./detect-format.ts";

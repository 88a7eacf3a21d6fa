/** The public names of `palimpsest/export`: a log as Markdown, HTML or JSON lines, and the masking of secrets. */
export type { ExportDocument } from "./document.ts";
export { documentOf } from "./from-log.ts";
export { renderHtml } from "./html.ts";
export { JsonlExport, type JsonlLine, type JsonlOptions } from "./jsonl.ts";
export { renderMarkdown } from "./markdown.ts";
export { maskSecrets, type MaskText } from "./mask-secrets.ts";
export type { DocumentOptions, SourceLine, SourceLog } from "./source-log.ts";

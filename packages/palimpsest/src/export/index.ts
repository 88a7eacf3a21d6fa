/** The public names of `palimpsest/export`: a log as Markdown, HTML or JSON lines, and the masking of secrets. */
export type { ExportDocument } from "./export-document.ts";
export { buildExportDocument } from "./build-export-document.ts";
export { renderHtml } from "./render-html.ts";
export { JsonlExport, type JsonlLine, type JsonlOptions } from "./jsonl-export.ts";
export { renderMarkdown } from "./render-markdown.ts";
export type { MaskText } from "./mask-secrets.ts";
export { maskSecrets } from "../text/find-secrets.ts";
export type { DocumentOptions, SourceLine, SourceLog } from "./export-document.ts";

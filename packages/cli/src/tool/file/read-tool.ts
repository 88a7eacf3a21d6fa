import { z } from "zod";
import type { ReadFile, Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";
import {
  countWithNoun,
  decodeText,
  splitLines,
  numberLine,
  formatSize,
  type ReadFileOutcome,
  readWholeFile,
} from "./text-file.ts";
import { defineTool, toolError, wrongCall } from "../define-tool.ts";
import { readCharsMax, readLineCharsMax, readLinesDefault, imageBytesMax, pdfBytesMax } from "../limits.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

export interface ReadDeps {
  /** Whether the result of this call, or this attachment, is still in the view unchanged. */
  readonly isShown: (shownBy: ReadFile["shownBy"]) => boolean;
}

const input = z
  .strictObject({
    file_path: z.string().optional().describe("Absolute, or relative to the working directory."),
    path: z.string().optional().describe("Same as file_path."),
    offset: z.int().min(1).max(100_000_000).optional().describe("First line, from 1."),
    limit: z.int().min(1).max(100_000).optional().describe(`Number of lines; ${readLinesDefault} by default.`),
  })
  .refine((fields) => (fields.file_path ?? fields.path) !== undefined, "file_path is missing");

export const readTool = (deps: ReadDeps): Tool =>
  defineTool({
    name: "read",
    description:
      "Show a file with line numbers. Images (PNG, JPEG, GIF, WebP) and small PDFs are shown as such. " +
      `Lines over ${readLineCharsMax} characters are cut. Read long files in parts with offset and limit. ` +
      "An unchanged file that is already shown above is not shown again.",
    input,
    effect: "read",
    offload: "never",
    plan: async ({ file_path, path = "", offset = 1, limit = readLinesDefault }, context) => {
      const resolved = await resolveRealPath(file_path ?? path, context.cwd);
      if (resolved.kind === "refused") return wrongCall(resolved.message);
      if (!resolved.exists) return wrongCall(`${resolved.path}: there is no such file`);
      if (isSpecialPath(resolved.path)) return wrongCall(`${resolved.path}: this is no ordinary file and is not read`);
      const range = { path: resolved.path, offset, limit };
      return {
        kind: "ready",
        acts: [{ kind: "read", path: resolved.path }],
        run: async () => showFile({ deps, context, range, read: await readWholeFile(resolved.path) }),
      };
    },
  });

interface LineRange {
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
}

function showFile({
  deps,
  context,
  range,
  read,
}: {
  readonly deps: ReadDeps;
  readonly context: ToolContext;
  readonly range: LineRange;
  readonly read: ReadFileOutcome;
}): ToolOutcome {
  if (read.kind === "absent") return toolError(`${range.path}: there is no such file any more`);
  if (read.kind === "refused") return toolError(read.message);
  const shown = renderContent(range, read.bytes);
  if (shown.kind === "refused") return toolError(shown.message);
  const before = context.files.get(range.path);
  if (before !== undefined && isSame(before, { hash: read.hash, lines: shown.lines }) && deps.isShown(before.shownBy)) {
    const content = `${range.path} is unchanged, and these lines are still shown above, by ${before.shownBy}.`;
    return { content, summary: "unchanged, shown above" };
  }
  context.files.set(range.path, {
    hash: read.hash,
    modifiedMs: read.modifiedMs,
    ...(shown.lines === undefined ? {} : { lines: shown.lines }),
    shownBy: context.toolUse,
  });
  return { content: shown.content, summary: shown.summary };
}

type Lines = ReadFile["lines"];

function isSame(before: ReadFile, now: { readonly hash: string; readonly lines: Lines }): boolean {
  return before.hash === now.hash && before.lines?.from === now.lines?.from && before.lines?.to === now.lines?.to;
}

type RenderOutcome =
  | {
      readonly kind: "shown";
      readonly content: ToolOutcome["content"];
      readonly lines: Lines;
      readonly summary: string;
    }
  | { readonly kind: "refused"; readonly message: string };

function renderContent(range: LineRange, bytes: Buffer): RenderOutcome {
  const media = detectMedia(bytes);
  switch (media?.kind) {
    case "block":
      return { kind: "shown", content: [media.block], lines: undefined, summary: media.words };
    case "too-large":
      return { kind: "refused", message: `${range.path}: ${media.words}` };
    case undefined:
      break;
  }
  const text = decodeText(bytes);
  if (text === undefined) {
    return {
      kind: "refused",
      message: `${range.path}: a binary file (${countWithNoun(bytes.length, "byte")}), or not UTF-8; not shown`,
    };
  }
  return renderLines(range, splitLines(text.text));
}

function renderLines({ path, offset, limit }: LineRange, lines: readonly string[]): RenderOutcome {
  if (lines.length === 0) {
    return { kind: "shown", content: `(${path} is empty)`, lines: undefined, summary: "empty file" };
  }
  if (offset > lines.length)
    return { kind: "refused", message: `${path}: it has only ${countWithNoun(lines.length, "line")}` };
  const shown: string[] = [];
  let chars = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const numbered = numberLine(offset + index, cutLine(line));
    chars += numbered.length + 1;
    if (chars > readCharsMax && shown.length > 0) break;
    shown.push(numbered);
  }
  const to = offset + shown.length - 1;
  const isAll = offset === 1 && to === lines.length;
  if (to < lines.length) shown.push(`(lines ${offset} to ${to} of ${lines.length}; go on with offset ${to + 1})`);
  return {
    kind: "shown",
    content: shown.join("\n"),
    lines: isAll ? undefined : { from: offset, to },
    summary: isAll ? countWithNoun(lines.length, "line") : `lines ${offset} to ${to} of ${lines.length}`,
  };
}

/** The cut part is given as a number of characters. */
export const cutLine = (line: string): string =>
  line.length <= readLineCharsMax
    ? line
    : `${line.slice(0, readLineCharsMax)} … (${line.length - readLineCharsMax} more characters in this line)`;

/** What the API can show a model besides text, detected by the first bytes: a file's name proves nothing. */
type Media =
  | { readonly kind: "block"; readonly block: JsonObject; readonly words: string }
  | { readonly kind: "too-large"; readonly words: string };

export function detectMedia(bytes: Buffer): Media | undefined {
  const type = sniffMediaType(bytes);
  if (type === undefined) return undefined;
  const isPdf = type === "application/pdf";
  const bytesMax = isPdf ? pdfBytesMax : imageBytesMax;
  const description = `${isPdf ? "PDF" : `image (${type})`}, ${formatSize(bytes.length)}`;
  if (bytes.length > bytesMax)
    return { kind: "too-large", words: `${description}; at most ${formatSize(bytesMax)} can be shown` };
  const source = { type: "base64", media_type: type, data: bytes.toString("base64") };
  return { kind: "block", block: { type: isPdf ? "document" : "image", source }, words: description };
}

function sniffMediaType(bytes: Buffer): string | undefined {
  const starts = (text: string, at = 0): boolean => bytes.toString("latin1", at, at + text.length) === text;
  if (starts("\x89PNG\r\n\x1A\n")) return "image/png";
  if (starts("\xFF\xD8\xFF")) return "image/jpeg";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  if (starts("%PDF-")) return "application/pdf";
  return undefined;
}

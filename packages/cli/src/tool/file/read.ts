import { z } from "zod";
import type { ReadFile, Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tools";
import { resolveReal } from "../confine.ts";
import { countWords } from "../count-words.ts";
import { isSpecial } from "../inside.ts";
import { defineTool, failed, wrong } from "../define.ts";
import { readCharsMax, readLineCharsMax, readLinesDefault } from "../limits.ts";
import { mediaOf } from "./media.ts";
import { type FileRead, readWhole } from "./open.ts";
import { decodeText, linesOf, numbered } from "./text.ts";

export interface ReadDeps {
  /** Whether the result of this call, or this attachment, is still in the view as it was given. */
  readonly isShown: (shownBy: ReadFile["shownBy"]) => boolean;
}

const input = z
  .strictObject({
    file_path: z.string().optional().describe("Absolute, or relative to the working directory."),
    path: z.string().optional().describe("Same as file_path."),
    offset: z.int().min(1).max(100_000_000).optional().describe("First line, from 1."),
    limit: z.int().min(1).max(100_000).optional().describe(`Number of lines; ${readLinesDefault} by default.`),
  })
  .refine((given) => (given.file_path ?? given.path) !== undefined, "file_path is missing");

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
      const resolved = await resolveReal(file_path ?? path, context.cwd);
      if (resolved.kind === "refused") return wrong(resolved.message);
      if (!resolved.exists) return wrong(`${resolved.path}: there is no such file`);
      if (isSpecial(resolved.path)) return wrong(`${resolved.path}: this is no ordinary file and is not read`);
      const asked = { path: resolved.path, offset, limit };
      return {
        kind: "ready",
        acts: [{ kind: "read", path: resolved.path }],
        run: async () => show({ deps, context, asked, read: await readWhole(resolved.path) }),
      };
    },
  });

interface Showing {
  readonly deps: ReadDeps;
  readonly context: ToolContext;
  readonly asked: Asked;
  readonly read: FileRead;
}

interface Asked {
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
}

function show({ deps, context, asked, read }: Showing): ToolOutcome {
  if (read.kind === "absent") return failed(`${asked.path}: there is no such file any more`);
  if (read.kind === "refused") return failed(read.message);
  const shown = contentOf(asked, read.bytes);
  if (shown.kind === "refused") return failed(shown.message);
  const before = context.files.get(asked.path);
  if (before !== undefined && isSame(before, { hash: read.hash, lines: shown.lines }) && deps.isShown(before.shownBy)) {
    const content = `${asked.path} is unchanged, and these lines are still shown above, by ${before.shownBy}.`;
    return { content, summary: "unchanged, shown above" };
  }
  context.files.set(asked.path, {
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

type Shown =
  | {
      readonly kind: "shown";
      readonly content: ToolOutcome["content"];
      readonly lines: Lines;
      readonly summary: string;
    }
  | { readonly kind: "refused"; readonly message: string };

function contentOf(asked: Asked, bytes: Buffer): Shown {
  const media = mediaOf(bytes);
  switch (media?.kind) {
    case "block":
      return { kind: "shown", content: [media.block], lines: undefined, summary: media.words };
    case "too-large":
      return { kind: "refused", message: `${asked.path}: ${media.words}` };
    case undefined:
      break;
  }
  const text = decodeText(bytes);
  if (text === undefined) {
    return {
      kind: "refused",
      message: `${asked.path}: a binary file (${countWords(bytes.length, "byte")}), or not UTF-8; not shown`,
    };
  }
  return shownLines(asked, linesOf(text.text));
}

function shownLines({ path, offset, limit }: Asked, lines: readonly string[]): Shown {
  if (lines.length === 0) {
    return { kind: "shown", content: `(${path} is empty)`, lines: undefined, summary: "empty file" };
  }
  if (offset > lines.length)
    return { kind: "refused", message: `${path}: it has only ${countWords(lines.length, "line")}` };
  const shown: string[] = [];
  let chars = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const one = numbered(offset + index, cutLine(line));
    chars += one.length + 1;
    if (chars > readCharsMax && shown.length > 0) break;
    shown.push(one);
  }
  const to = offset + shown.length - 1;
  const isAll = offset === 1 && to === lines.length;
  if (to < lines.length) shown.push(`(lines ${offset} to ${to} of ${lines.length}; go on with offset ${to + 1})`);
  return {
    kind: "shown",
    content: shown.join("\n"),
    lines: isAll ? undefined : { from: offset, to },
    summary: isAll ? countWords(lines.length, "line") : `lines ${offset} to ${to} of ${lines.length}`,
  };
}

/** What stands behind it in the line is counted. */
export const cutLine = (line: string): string =>
  line.length <= readLineCharsMax
    ? line
    : `${line.slice(0, readLineCharsMax)} … (${line.length - readLineCharsMax} more characters in this line)`;

import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { createEngine } from "../../../engine.ts";
import type { FormatMode } from "../../../export/document.ts";
import { documentOf } from "../../../export/from-log.ts";
import { renderHtml } from "../../../export/html.ts";
import { documentLogBytesMax } from "../../../export/limits.ts";
import { renderMarkdown } from "../../../export/markdown.ts";
import { maskSecrets } from "../../../export/mask-secrets.ts";
import { exportJsonl, type ExportOptions, readForDocument } from "../../../loop/export.ts";
import { command, type CommandContext, type Outcome } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { failure, type Failure } from "../../failure.ts";
import { humanBytes } from "../../../schema/human-bytes.ts";
import { MediaFiles } from "../../media-files.ts";
import { type NamedLog, openNamedLog } from "../../named-log.ts";
import { usage } from "../../parse.ts";
import { progressOn } from "../../progress.ts";

const formats = ["md", "html", "jsonl"] as const;
type Format = (typeof formats)[number];
const isFormat = (word: string | undefined): word is Format => formats.some((format) => format === word);

export const exportCommand = command({
  name: "export",
  summary: "write a session as Markdown, HTML or JSONL",
  operands: {
    session: { shown: "session|file", summary: "a session's id, the beginning of one, or a transcript's path" },
  },
  options: {
    to: { type: "string", shown: "md|html|jsonl", summary: "the form (needed)" },
    out: {
      type: "string",
      shown: "path|-",
      summary: "where to; <session>.<form> in this folder if left out, - is stdout",
    },
    "mask-secrets": { type: "boolean", summary: "keys, tokens, passwords become [secret: <kind>]" },
    plain: { type: "boolean", summary: "messages only: no edits, summaries, thinking, damage" },
    force: { type: "boolean", summary: "write over a file that is there" },
  },
  details: [
    "Sub-agents, edits with their receipts, other branches and damage are told; results that were offloaded are in full. Images become files in <name>-images beside the export; on stdout they stay references.",
    "The files get the permissions that your umask gives: an export is made to be passed on. Look at it before you do; --mask-secrets finds the shapes that docs/export.md lists, not every secret.",
  ],
  run: async (context, { operands, options }) => {
    if (!isFormat(options.to))
      return usage(
        options.to === undefined ? "--to is missing" : `--to takes md, html or jsonl, not ${options.to}`,
        context.called,
      );
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const agents = await createEngine(context).agentLogs(log.path);
    try {
      const name = log.session?.id ?? basename(log.path, extname(log.path));
      const mask = options["mask-secrets"] ? { mask: maskSecrets } : {};
      const onProgress = progressOn(context, { verb: "read", size: log.source.size });
      const request = { name, origin: log.origin, format: log.format, source: log.source, agents, onProgress, ...mask };
      const mode = options.plain ? "plain" : "full";
      return await exporting(context, {
        log,
        request,
        mode,
        format: options.to,
        out: options.out,
        existing: options.force ? "replace" : "keep",
      });
    } finally {
      await log.source.close();
      for (const { source } of agents) await source.close();
    }
  },
});

interface Exporting {
  readonly log: NamedLog;
  readonly request: ExportOptions;
  readonly mode: FormatMode;
  readonly format: Format;
  readonly out: string | undefined;
  readonly existing: "keep" | "replace";
}

async function exporting(context: CommandContext, job: Exporting): Promise<Outcome> {
  const { request, format } = job;
  if (format !== "jsonl" && request.source.size > documentLogBytesMax) {
    return failure({
      code: exitCode.refused,
      message: `the log has ${humanBytes(request.source.size)}; a document is made of at most ${humanBytes(documentLogBytesMax)}`,
      hint: "--to jsonl has no such limit.",
    });
  }
  if (job.out === "-") {
    for await (const piece of piecesOf(job, undefined)) {
      if (context.out.state().kind !== "open") break;
      await context.out.write(piece);
    }
    return exitCode.fine;
  }
  const path = resolve(context.cwd, job.out ?? `${request.name}.${format}`);
  return toFile(context, job, path);
}

/** Under a name of its own until it is whole: a failure leaves neither half a file nor a harmed old one. */
async function toFile(context: CommandContext, job: Exporting, path: string): Promise<Outcome> {
  const taken = await refusal(job, path);
  if (taken !== undefined) return taken;
  const folder = `${basename(path, extname(path))}-images`;
  const media = new MediaFiles(folder);
  const temporary = `${path}.${process.pid}.part`;
  const file = await open(temporary, "wx", 0o666).catch(absentFolder);
  if (file === undefined) {
    return failure({
      code: exitCode.notFound,
      message: `there is no folder ${dirname(path)}`,
      hint: "Make it first, or name another place with --out.",
    });
  }
  try {
    await writePieces(file, piecesOf(job, media));
    await file.close();
    await writeMedia(join(dirname(path), folder), media);
    await rename(temporary, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(temporary, { force: true });
    throw error;
  }
  const images =
    media.files.size === 0 ? "" : ` and ${media.files.size} ${media.files.size === 1 ? "file" : "files"} in ${folder}`;
  await context.out.write(`${path}${images}\n`);
  return exitCode.fine;
}

async function refusal({ log, existing }: Exporting, path: string): Promise<Failure | undefined> {
  const seen = await stat(path).catch(() => undefined);
  if (seen === undefined) return undefined;
  const isLog = seen.ino === (await stat(log.path)).ino;
  if (!isLog && seen.isFile() && existing === "replace") return undefined;
  return failure({
    code: exitCode.refused,
    message: isLog ? `${path} is the log itself` : `${path} is there already`,
    hint:
      isLog || !seen.isFile()
        ? "Choose another place with --out."
        : "Choose another place with --out, or write over it with --force.",
  });
}

async function writePieces(file: FileHandle, pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) await file.writeFile(piece);
}

async function writeMedia(folder: string, { files }: MediaFiles): Promise<void> {
  if (files.size === 0) return;
  await mkdir(folder, { recursive: true });
  for (const [name, data] of files) await writeFile(join(folder, name), data);
}

async function* piecesOf(
  { log, request, mode, format }: Exporting,
  media: MediaFiles | undefined,
): AsyncGenerator<string> {
  if (format === "jsonl") {
    for await (const line of exportJsonl(log, { ...request, mode })) yield `${line}\n`;
    return;
  }
  const source = await readForDocument(log, request);
  const document = documentOf(source, { mode, place: (one) => media?.place(one) });
  yield* format === "md" ? renderMarkdown(document) : renderHtml(document);
}

function absentFolder(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}

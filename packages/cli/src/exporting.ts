import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { FormatMode } from "palimpsest/internal/export/document";
import { documentOf } from "palimpsest/internal/export/from-log";
import { renderHtml } from "palimpsest/internal/export/html";
import { documentLogBytesMax } from "palimpsest/internal/export/limits";
import { renderMarkdown } from "palimpsest/internal/export/markdown";
import { exportJsonl, type ExportOptions, readForDocument } from "palimpsest/internal/session/export";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { counted } from "./human.ts";
import { MediaFiles } from "./media-files.ts";
import type { NamedLog } from "./named-log.ts";

export const exportFormats = ["md", "html", "jsonl"] as const;
export type ExportFormat = (typeof exportFormats)[number];
export const isExportFormat = (word: string | undefined): word is ExportFormat =>
  exportFormats.some((format) => format === word);

export interface ExportJob {
  readonly log: NamedLog;
  readonly request: ExportOptions;
  readonly mode: FormatMode;
  readonly format: ExportFormat;
  readonly existing: "keep" | "replace";
}

export interface Exported {
  readonly kind: "written";
  readonly path: string;
  /** Of images, in a folder beside it. */
  readonly media: { readonly folder: string; readonly files: number };
}

export interface NotExported {
  readonly kind: "refused";
  /** `no-file`: something that is no file has the name. */
  readonly why: "too-large" | "the-log" | "no-file" | "taken" | "no-folder";
  /** One line, without a full stop. */
  readonly message: string;
}

export const exportedText = ({ path, media: { folder, files } }: Exported): string =>
  files === 0 ? path : `${path} and ${counted(files, "file")} in ${folder}`;

const refused = (why: NotExported["why"], message: string): NotExported => ({ kind: "refused", why, message });

/** Under a name of its own until it is whole: a failure leaves neither half a file nor a harmed old one. */
export async function exportTo(path: string, job: ExportJob): Promise<Exported | NotExported> {
  const refusal = tooLarge(job) ?? (await standsInTheWay(path, job));
  if (refusal !== undefined) return refusal;
  const folder = `${basename(path, extname(path))}-images`;
  const media = new MediaFiles(folder);
  const temporary = `${path}.${process.pid}.part`;
  const file = await open(temporary, "wx", 0o666).catch(absentFolder);
  if (file === undefined) return refused("no-folder", `there is no folder ${dirname(path)}`);
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
  return { kind: "written", path, media: { folder, files: media.files.size } };
}

export function tooLarge({ request: { source }, format }: ExportJob): NotExported | undefined {
  if (format === "jsonl" || source.size <= documentLogBytesMax) return undefined;
  const sizes = `the log has ${humanBytes(source.size)}; a document is made of at most ${humanBytes(documentLogBytesMax)}`;
  return refused("too-large", sizes);
}

async function standsInTheWay(path: string, { log, existing }: ExportJob): Promise<NotExported | undefined> {
  const seen = await stat(path).catch(() => undefined);
  if (seen === undefined) return undefined;
  if (seen.ino === (await stat(log.path)).ino) return refused("the-log", `${path} is the log itself`);
  if (!seen.isFile()) return refused("no-file", `${path} is there already`);
  return existing === "replace" ? undefined : refused("taken", `${path} is there already`);
}

async function writePieces(file: FileHandle, pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) await file.writeFile(piece);
}

async function writeMedia(folder: string, { files }: MediaFiles): Promise<void> {
  if (files.size === 0) return;
  await mkdir(folder, { recursive: true });
  for (const [name, data] of files) await writeFile(join(folder, name), data);
}

/** Without a place for images they stay references. */
export async function* piecesOf(
  { log, request, mode, format }: ExportJob,
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

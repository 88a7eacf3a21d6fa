import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { FormatMode, Media } from "palimpsest/internal/export/export-document";
import { buildExportDocument } from "palimpsest/internal/export/build-export-document";
import { renderHtml } from "palimpsest/internal/export/render-html";
import { documentLogBytesMax } from "palimpsest/internal/export/limits";
import { renderMarkdown } from "palimpsest/internal/export/render-markdown";
import { exportJsonl, type ExportOptions, readForDocument } from "palimpsest/internal/session/export-jsonl";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { quantity } from "../text/format.ts";
import type { NamedLog } from "./named-log.ts";
import { createHash } from "node:crypto";

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

interface ExportedFile {
  readonly kind: "written";
  readonly path: string;
  /** Files of images, in a folder next to the export. */
  readonly media: { readonly folder: string; readonly files: number };
}

export interface ExportRefusal {
  readonly kind: "refused";
  /** `no-file`: the name belongs to something that is no file. */
  readonly why: "too-large" | "the-log" | "no-file" | "taken" | "no-folder";
  /** One line, without a full stop. */
  readonly message: string;
}

export const exportResultText = ({ path, media: { folder, files } }: ExportedFile): string =>
  files === 0 ? path : `${path} and ${quantity(files, "file")} in ${folder}`;

const exportRefusal = (why: ExportRefusal["why"], message: string): ExportRefusal => ({
  kind: "refused",
  why,
  message,
});

/** Written under a temporary name until it is complete: a failure neither leaves half a file nor harms an old one. */
export async function exportTo(path: string, job: ExportJob): Promise<ExportedFile | ExportRefusal> {
  const refusal = tooLarge(job) ?? (await findObstacle(path, job));
  if (refusal !== undefined) return refusal;
  const folder = `${basename(path, extname(path))}-images`;
  const media = new MediaFiles(folder);
  const temporary = `${path}.${process.pid}.part`;
  const file = await open(temporary, "wx", 0o666).catch(ignoreMissingFolder);
  if (file === undefined) return exportRefusal("no-folder", `there is no folder ${dirname(path)}`);
  try {
    await writePieces(file, exportPieces(job, media));
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

export function tooLarge({ request: { source }, format }: ExportJob): ExportRefusal | undefined {
  if (format === "jsonl" || source.size <= documentLogBytesMax) return undefined;
  const sizes = `the log has ${formatBytes(source.size)}; a document is made of at most ${formatBytes(documentLogBytesMax)}`;
  return exportRefusal("too-large", sizes);
}

async function findObstacle(path: string, { log, existing }: ExportJob): Promise<ExportRefusal | undefined> {
  const existingFile = await stat(path).catch(() => undefined);
  if (existingFile === undefined) return undefined;
  const { dev, ino } = await stat(log.path);
  if (existingFile.dev === dev && existingFile.ino === ino)
    return exportRefusal("the-log", `${path} is the log itself`);
  if (!existingFile.isFile()) return exportRefusal("no-file", `${path} is there already`);
  return existing === "replace" ? undefined : exportRefusal("taken", `${path} is there already`);
}

async function writePieces(file: FileHandle, pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) await file.writeFile(piece);
}

async function writeMedia(folder: string, { files }: MediaFiles): Promise<void> {
  if (files.size === 0) return;
  await mkdir(folder, { recursive: true });
  for (const [name, data] of files) await writeFile(join(folder, name), data);
}

/** Without a place for images, they stay references. */
export async function* exportPieces(
  { log, request, mode, format }: ExportJob,
  media: MediaFiles | undefined,
): AsyncGenerator<string> {
  if (format === "jsonl") {
    for await (const line of exportJsonl(log, { ...request, mode })) yield `${line}\n`;
    return;
  }
  const source = await readForDocument(log, request);
  const document = buildExportDocument(source, { mode, place: (medium) => media?.place(medium) });
  yield* format === "md" ? renderMarkdown(document) : renderHtml(document);
}

function ignoreMissingFolder(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}

const extensionByType: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["application/pdf", "pdf"],
]);

const nameDigits = 16;

/**
 * Images and documents of an export as files next to it, the same bytes once. Kept in memory until the export itself is
 * written.
 */
class MediaFiles {
  readonly #folder: string;
  readonly #dataByName = new Map<string, Buffer>();

  /** `folder`: as the export names it, relative to itself. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  get files(): ReadonlyMap<string, Buffer> {
    return this.#dataByName;
  }

  /** Returns the link to the file. */
  place({ mediaType, base64 }: Media): string {
    const data = Buffer.from(base64, "base64");
    const hash = createHash("sha256").update(data).digest("hex").slice(0, nameDigits);
    const name = `${hash}.${extensionByType.get(mediaType) ?? "bin"}`;
    this.#dataByName.set(name, data);
    return `${encodeURIComponent(this.#folder)}/${name}`;
  }
}

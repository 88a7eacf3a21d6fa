import { openWorkspace, type ResolvedLog } from "../host/workspace.ts";
import type { ProjectStore } from "../host/project-store.ts";
import type { LogFormat, ImportNote } from "palimpsest/internal/import/importer";
import type { ForeignTranslation } from "palimpsest/internal/session/adopt-once";
import type { OnProgress } from "palimpsest/internal/session/check-log";
import { type CountedLog, openCounted } from "palimpsest/internal/session/counted-log";
import type { OpenedLog } from "palimpsest/internal/session/open-log";
import type { Blobs } from "palimpsest/internal/ports/blobs";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import type { Output } from "../program/output.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { importers } from "palimpsest/internal/import/detect-format";
import { formatNumber } from "../text/format.ts";

/** A log open for reading, however the user named it. */
export interface NamedLog {
  readonly kind: "log";
  readonly path: string;
  readonly source: ByteSource;
  readonly blobs: Blobs;
  readonly origin: "ours" | "foreign";
  /** For another tool's file, if we know its format. */
  readonly format?: LogFormat | undefined;
  /** Present if the file had to be translated. */
  readonly translated?: ForeignTranslation;
  /** Present if it is a session of our own, which may be written. */
  readonly session?: { readonly id: SessionId; readonly deps: ProjectStore };
}

export async function openNamedLog(
  context: Pick<CommandContext, "env" | "cwd">,
  name: string,
): Promise<NamedLog | Failure> {
  const resolved = await openWorkspace(context).resolveLog(name);
  if (resolved.kind !== "ours" && resolved.kind !== "foreign") return openLogFailure(resolved, name);
  if (resolved.kind === "foreign") return { ...resolved, kind: "log", origin: "foreign" };
  const { id, deps, path } = resolved;
  const source = await deps.transcripts.openForReading(id);
  if (source === undefined) return openLogFailure({ kind: "missing" }, name);
  return { kind: "log", path, source, blobs: deps.blobs, origin: "ours", session: { id, deps } };
}

export function openLogFailure(resolved: Exclude<ResolvedLog, { kind: "ours" | "foreign" }>, name: string): Failure {
  switch (resolved.kind) {
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `no session or file is called ${name}`,
        hint: "`palimpsest sessions list --all` shows the sessions there are; a path to a .jsonl file works too.",
      });
    case "not-a-file":
      return failure({
        code: exitCode.notFound,
        message: `${resolved.path} is not a file`,
        hint: "Give the path of a transcript; `palimpsest sessions import` takes folders.",
      });
    case "unreadable":
      return failure({
        code: exitCode.machine,
        message: resolved.message,
        hint: "Give the path of a transcript that you may read.",
      });
    case "ambiguous":
      return failure({
        code: exitCode.usage,
        message: `${name} is the beginning of ${resolved.candidates.length} sessions`,
        hint: `Write more of the id: ${resolved.candidates.slice(0, 4).join(", ")}${resolved.candidates.length > 4 ? ", …" : ""}`,
      });
  }
}

/**
 * If not one line of another tool's file is an entry, it is the wrong file rather than a damaged one: a report about it
 * would look like one about an empty session. A session of our own stays one, whatever happened to its file.
 */
export function wrongFileFailure(
  log: NamedLog,
  { fold, damage }: Pick<OpenedLog, "fold" | "damage">,
): Failure | undefined {
  if (log.origin === "ours" || log.translated !== undefined || fold.view().path.entries > 0) return undefined;
  if (damage.length > 0)
    return failure({
      code: exitCode.negative,
      message: `${log.path} is not a transcript: no line of it is an entry`,
      hint: "Give a transcript's path; `palimpsest sessions fsck` says what is wrong line by line.",
    });
  return failure({
    code: exitCode.negative,
    message: `${log.path} is empty: nothing was said in it yet`,
    hint: "Give the path of a transcript that has entries.",
  });
}

/** Up to this size the whole log is read, so that every edit is listed; beyond it only what the view needs. */
const wholeReadBytesMax = 256 * 2 ** 20;

/** Opens a log to list its edits. */
export const openWithEdits = (log: NamedLog): Promise<CountedLog> =>
  openCounted(log, { ...log, tailBytes: Math.min(log.source.size, wholeReadBytesMax) });

/** From this size on, reading a log takes long enough to show progress. */
const progressBytesMin = 16 * 2 ** 20;

/** Shows `read 3 MB of 20 MB` on a terminal's stderr, until the end is reached; nothing elsewhere. */
export function createProgress(err: Output, { verb, size }: { verb: string; size: number }): OnProgress {
  if (size < progressBytesMin) return () => {};
  return (done) => void err.progress(done >= size - 1 ? "" : `${verb} ${formatBytes(done)} of ${formatBytes(size)}`);
}

/** For `--json`: present if the file had to be translated. */
export const importJson = ({ format, translated }: Pick<NamedLog, "format" | "translated">): object =>
  translated === undefined ? {} : { import: { format, notes: translated.notes } };

/** What the translation of another agent's file could not carry over, a line each. */
export function importText({ format, translated }: Pick<NamedLog, "format" | "translated">): string {
  if (translated === undefined) return "";
  return `${translationText({ format, translated })}${translated.notes.map((note) => `${noteText(note)}\n`).join("")}`;
}

/** That it was translated, without what was not carried over. */
export const translationText = ({ format, translated }: Pick<NamedLog, "format" | "translated">): string =>
  format === undefined || translated === undefined ? "" : `translated from a ${formatLabel(format)}\n`;

export const noteText = ({ kind, count, detail }: ImportNote): string =>
  `note: ${kind} ×${formatNumber(count)}: ${detail}`;

export const formatLabel = (format: LogFormat): string =>
  importers.find((importer) => importer.format === format)?.label ?? "Claude Code transcript";

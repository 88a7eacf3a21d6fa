import { resolve } from "node:path";
import { openWorkspace, type Workspace } from "../../host/workspace.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import type { ImportNote, LogFormat } from "palimpsest/internal/import/importer";
import { adoptOnce } from "palimpsest/internal/session/adopt-once";
import {
  hashSource,
  sourceMark,
  sourceState,
  type AdoptedSession,
  listAdoptedSessions,
  sessionBySource,
} from "palimpsest/internal/session/session-origin";
import type { BlobId, SessionId } from "palimpsest/internal/schema/brand";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { command, type CommandContext, type Outcome } from "../../program/command.ts";
import { exitCode, failureFromError } from "../../program/failure.ts";
import { filesBelow } from "../../session/files-below.ts";
import { clip, clipStart } from "../../text/format.ts";
import { formatLabel, noteText } from "../../session/named-log.ts";
import { table } from "../../text/table.ts";
import { sessionFailure } from "../../session/session-failure.ts";

export const importCommand = command({
  name: "import",
  summary: "import other agents' files as sessions of this project",
  operands: {
    paths: { shown: "file|folder", summary: "files, or folders with everything below them", takes: "some" },
  },
  json: "imported (path, format, session, notes) and skipped (path, why, detail)",
  details: [
    "Knows Claude Code, Codex, pi, opencode exports, Copilot CLI, Gemini CLI, SWE-agent and OpenHands by content, not by name. The files themselves are only read.",
    "A file that was imported before and has not changed is passed over. One that has grown becomes a second session, which is said.",
    "Exit code 1: nothing could be imported, and not because it was before. Exit code 3: there is no such file or folder.",
  ],
  run: async (context, { operands, format }) => {
    const workspace = openWorkspace(context);
    const project = await workspace.project();
    if (project.kind === "failed") return sessionFailure(project, "new");
    const report = await importAll(context, { workspace, deps: project.deps, paths: operands.paths });
    if (format === "json") await context.out.json(report);
    else await show(context, report);
    return importOutcome(report);
  },
});

interface ImportedFile {
  readonly path: string;
  readonly format: LogFormat;
  readonly session: SessionId;
  readonly sizeBytes: number;
  readonly notes: readonly ImportNote[];
  /** The session that was made from the same file when it was shorter. */
  readonly goesOnFrom?: SessionId;
}

type WhySkipped =
  | "unknown format"
  | "empty"
  | "imported before"
  | "one of our own"
  | "nothing said"
  | "not found"
  | "failed";

interface SkippedImport {
  readonly path: string;
  readonly why: WhySkipped;
  readonly detail: string;
}

interface Report {
  readonly imported: readonly ImportedFile[];
  readonly skipped: readonly SkippedImport[];
}

function importOutcome({ imported, skipped }: Report): Outcome {
  const isAll = (why: WhySkipped): boolean => skipped.every((file) => file.why === why);
  if (imported.length > 0 || (skipped.length > 0 && isAll("imported before"))) return exitCode.fine;
  return skipped.length > 0 && isAll("not found") ? exitCode.notFound : exitCode.negative;
}

interface ImportInput {
  readonly workspace: Workspace;
  readonly deps: ProjectStore;
  readonly paths: readonly string[];
}

async function importAll(context: CommandContext, { workspace, deps, paths }: ImportInput): Promise<Report> {
  const imported: ImportedFile[] = [];
  const skipped: SkippedImport[] = [];
  const files: string[] = [];
  for (const path of paths) {
    const found = await filesBelow(resolve(context.cwd, path));
    if (found.kind === "files") files.push(...found.paths);
    else if (found.kind === "missing")
      skipped.push({ path, why: "not found", detail: "there is no such file or folder" });
    else skipped.push({ path, why: "failed", detail: found.message });
  }
  const adopted = await listAdoptedSessions(deps);
  const known = sessionBySource(adopted);
  for (const [at, path] of files.entries()) {
    const line = `${at + 1} of ${files.length}  ${path.split(/[\\/]/).at(-1) ?? path}`;
    await context.err.progress(clip(line, (context.err.columns ?? 80) - 1));
    const outcome = await importOne({ workspace, deps, known, adopted }, path);
    if ("session" in outcome) imported.push(outcome);
    else skipped.push(outcome);
  }
  await context.err.progress("");
  return { imported, skipped };
}

interface ImportFileInput extends Omit<ImportInput, "paths"> {
  /** Grows as files are imported: the same content twice in one run becomes one session. */
  readonly known: Map<BlobId, SessionId>;
  readonly adopted: readonly AdoptedSession[];
}

/** Must not reject: one bad file never stops the rest. */
async function importOne(input: ImportFileInput, path: string): Promise<ImportedFile | SkippedImport> {
  try {
    return await importFile(input, path);
  } catch (error) {
    return { path, why: "failed", detail: failureFromError(error).message };
  }
}

async function importFile(input: ImportFileInput, path: string): Promise<ImportedFile | SkippedImport> {
  const { workspace, deps, known } = input;
  const log = await workspace.resolveLog(path);
  if (log.kind === "ours") return { path, why: "one of our own", detail: `session ${log.id}` };
  if (log.kind !== "foreign")
    return { path, why: "failed", detail: log.kind === "unreadable" ? log.message : "there is no such file" };
  try {
    const { source, format, translated } = log;
    const size = translated?.from.length ?? source.size;
    if (size === 0) return { path, why: "empty", detail: "the file has no content" };
    if (format === undefined) return { path, why: "unknown format", detail: "its content is of no form that we know" };
    if (source.size === 0) return { path, why: "nothing said", detail: `a ${formatLabel(format)} without a message` };
    const hash = translated?.from.sha256 ?? (await hashSource(deps.sha256, source));
    const imported = known.get(hash);
    if (imported !== undefined) return skipImported(path, imported);
    const from = translated === undefined ? {} : { translatedFrom: translated.from };
    const opened = await adoptOnce(deps, { path: log.path, format, source, ...from });
    // Adopted by another process since the first check.
    if (opened.kind === "adopted") return skipImported(path, opened.id);
    if (opened.kind !== "open")
      return { path, why: "failed", detail: sessionFailure(opened, deps.sessionOf(hash)).message };
    await opened.writer.close();
    known.set(hash, opened.writer.id);
    const shorter = await findShorterImport(input, log.path);
    const goesOn = shorter === undefined ? {} : { goesOnFrom: shorter };
    return { path, format, session: opened.writer.id, sizeBytes: size, notes: translated?.notes ?? [], ...goesOn };
  } finally {
    await log.source.close();
  }
}

/** The session made from the longest earlier state of the file. */
async function findShorterImport(
  { workspace, deps, adopted }: ImportFileInput,
  path: string,
): Promise<SessionId | undefined> {
  const candidates = adopted
    .filter(({ origin }) => origin.edit.path === path)
    .toSorted((one, other) => sourceMark(other.origin).length - sourceMark(one.origin).length);
  const file = candidates.length === 0 ? undefined : await workspace.openFile(path);
  if (file === undefined) return undefined;
  try {
    for (const { session, origin } of candidates)
      if ((await sourceState(deps.sha256, origin, file)).kind === "grown") return session;
    return undefined;
  } finally {
    await file.close();
  }
}

const skipImported = (path: string, session: SessionId): SkippedImport => ({
  path,
  why: "imported before",
  detail: `session ${session}`,
});

async function show({ out, err }: CommandContext, { imported, skipped }: Report): Promise<void> {
  const width = Math.max(24, (out.columns ?? 120) - 56);
  const rows = imported.map(({ session, format, sizeBytes, notes, path }) => [
    session.slice(0, 8),
    format,
    formatBytes(sizeBytes),
    String(notes.length),
    clipStart(path, width),
  ]);
  if (rows.length > 0) await out.write(table(importColumns, rows));
  for (const { session, goesOnFrom } of imported)
    if (goesOnFrom !== undefined)
      await out.write(`${session.slice(0, 8)} goes on where ${goesOnFrom.slice(0, 8)} ends: its file has grown\n`);
  await out.write(notesText(imported));
  await out.write(`${imported.length} imported, ${skipped.length} skipped\n`);
  for (const [why, files] of Map.groupBy(skipped, (file) => file.why)) {
    await err.write(`skipped (${why}): ${files.length}\n`);
    for (const { path, detail } of files.slice(0, skippedShownMax))
      await err.write(`  ${clipStart(path, width)}  ${why === "failed" ? detail : clip(detail, 100)}\n`);
    if (files.length > skippedShownMax)
      await err.write(`  … and ${files.length - skippedShownMax} more; --json lists all\n`);
  }
}

/** What the translations could not carry over, for all files together: each kind once. */
function notesText(imported: readonly ImportedFile[]): string {
  const byKind = Map.groupBy(
    imported.flatMap(({ notes }) => notes),
    ({ kind }) => kind,
  );
  return [...byKind.values()]
    .flatMap(([first, ...more]) =>
      first === undefined
        ? []
        : [noteText({ ...first, count: more.reduce((sum, { count }) => sum + count, first.count) })],
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** A folder may hold thousands of files that are no sessions. */
const skippedShownMax = 10;

const importColumns = [
  { title: "session" },
  { title: "format" },
  { title: "size", align: "right" },
  { title: "notes", align: "right" },
  { title: "file" },
] as const;

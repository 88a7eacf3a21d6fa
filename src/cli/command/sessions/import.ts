import { resolve } from "node:path";
import { createEngine, type Engine, type EngineDeps } from "../../../engine.ts";
import type { ImportNote, LogFormat } from "../../../import/importer.ts";
import { adoptOnce } from "../../../loop/adopt-once.ts";
import { hashOf } from "../../../loop/hash.ts";
import { adoptedSources } from "../../../loop/adopted.ts";
import type { BlobId, SessionId } from "../../../schema/brand.ts";
import { command, type CommandContext, type Outcome } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { failureOf } from "../../failure.ts";
import { filesBelow } from "../../files-below.ts";
import { humanBytes, clipped } from "../../human.ts";
import { labelOf } from "../../import-text.ts";
import { usage } from "../../parse.ts";
import { table } from "../../table.ts";
import { writingFailure } from "../../writing-failure.ts";

export const importCommand = command({
  name: "import",
  summary: "make sessions of this project from other agents' files",
  operands: {
    paths: { shown: "files|folders…", summary: "files, or folders with all below them", takes: "many" },
  },
  json: "imported (path, format, session, notes) and skipped (path, why, detail)",
  details: [
    "Knows Claude Code, Codex, pi, opencode exports, Copilot CLI, Gemini CLI, SWE-agent and OpenHands by content, not by name. The files themselves are only read.",
    "A file that was imported before and has not changed is passed over. Exit code 1: nothing could be imported.",
  ],
  run: async (context, { operands, format }) => {
    if (operands.paths.length === 0) return usage("<files|folders…> is missing", context.called);
    const engine = createEngine(context);
    const project = await engine.project();
    if (project.kind === "failed") return writingFailure(project, "new");
    const report = await importAll(context, { engine, deps: project.deps, paths: operands.paths });
    if (format === "json") await context.out.json(report);
    else await show(context, report);
    return answer(report);
  },
});

interface Imported {
  readonly path: string;
  readonly format: LogFormat;
  readonly session: SessionId;
  readonly sizeBytes: number;
  readonly notes: readonly ImportNote[];
}

type WhySkipped = "unknown format" | "empty" | "imported before" | "one of our own" | "nothing said" | "failed";

interface Skipped {
  readonly path: string;
  readonly why: WhySkipped;
  readonly detail: string;
}

interface Report {
  readonly imported: readonly Imported[];
  readonly skipped: readonly Skipped[];
}

const answer = ({ imported }: Report): Outcome => (imported.length > 0 ? exitCode.fine : exitCode.negative);

interface Importing {
  readonly engine: Engine;
  readonly deps: EngineDeps;
  readonly paths: readonly string[];
}

async function importAll(context: CommandContext, { engine, deps, paths }: Importing): Promise<Report> {
  const imported: Imported[] = [];
  const skipped: Skipped[] = [];
  const files: string[] = [];
  for (const path of paths) {
    const below = await filesBelow(resolve(context.cwd, path));
    if (below.kind === "files") files.push(...below.paths);
    else skipped.push({ path, why: "failed", detail: below.message });
  }
  const known = await adoptedSources(deps);
  const progress = progressOn(context, files.length);
  for (const [at, path] of files.entries()) {
    await progress.show(at + 1, path);
    const outcome = await importOne({ engine, deps, known }, path);
    if ("session" in outcome) imported.push(outcome);
    else skipped.push(outcome);
  }
  await progress.end();
  return { imported, skipped };
}

interface ImportingOne extends Omit<Importing, "paths"> {
  /** Grows as files are imported: the same content twice in one run is one session. */
  readonly known: Map<BlobId, SessionId>;
}

/** Must not reject: one bad file never stops the rest. */
async function importOne(importing: ImportingOne, path: string): Promise<Imported | Skipped> {
  try {
    return await importFile(importing, path);
  } catch (error) {
    return { path, why: "failed", detail: failureOf(error).message };
  }
}

async function importFile({ engine, deps, known }: ImportingOne, path: string): Promise<Imported | Skipped> {
  const log = await engine.resolveLog(path);
  if (log.kind === "ours") return { path, why: "one of our own", detail: `session ${log.id}` };
  if (log.kind !== "foreign")
    return { path, why: "failed", detail: log.kind === "unreadable" ? log.message : "there is no such file" };
  try {
    const { source, format, translated } = log;
    const size = translated?.from.length ?? source.size;
    if (size === 0) return { path, why: "empty", detail: "the file has no content" };
    if (format === undefined) return { path, why: "unknown format", detail: "its content is of no form that we know" };
    if (source.size === 0) return { path, why: "nothing said", detail: `a ${labelOf(format)} without a message` };
    const hash = translated?.from.sha256 ?? (await hashOf(deps.sha256, source));
    const before = known.get(hash);
    if (before !== undefined) return importedBefore(path, before);
    const from = translated === undefined ? {} : { translatedFrom: translated.from };
    const opened = await adoptOnce(deps, { path: log.path, format, source, ...from });
    // By another process, since this one looked.
    if (opened.kind === "adopted") return importedBefore(path, opened.id);
    if (opened.kind !== "open")
      return { path, why: "failed", detail: writingFailure(opened, deps.sessionOf(hash)).message };
    await opened.writer.close();
    known.set(hash, opened.writer.id);
    return { path, format, session: opened.writer.id, sizeBytes: size, notes: translated?.notes ?? [] };
  } finally {
    await log.source.close();
  }
}

const importedBefore = (path: string, session: SessionId): Skipped => ({
  path,
  why: "imported before",
  detail: `session ${session}`,
});

interface Progress {
  readonly show: (at: number, path: string) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** On a terminal only: one line that is written over. */
function progressOn({ err }: CommandContext, of: number): Progress {
  const { columns } = err;
  if (columns === undefined) return { show: async () => {}, end: async () => {} };
  return {
    show: (at, path) =>
      err.write(`\r\u001b[K${clipped(`${at} of ${of}  ${path.split(/[\\/]/).at(-1) ?? path}`, columns - 1)}`),
    end: () => err.write("\r\u001b[K"),
  };
}

async function show({ out, err }: CommandContext, { imported, skipped }: Report): Promise<void> {
  const width = Math.max(24, (out.columns ?? 120) - 56);
  const rows = imported.map(({ session, format, sizeBytes, notes, path }) => [
    session.slice(0, 8),
    format,
    humanBytes(sizeBytes),
    String(notes.length),
    tail(path, width),
  ]);
  if (rows.length > 0) await out.write(table(columnsOfTable, rows));
  await out.write(`${imported.length} imported, ${skipped.length} skipped\n`);
  for (const [why, files] of Map.groupBy(skipped, (file) => file.why)) {
    await err.write(`skipped (${why}): ${files.length}\n`);
    for (const { path, detail } of files.slice(0, skippedShownMax))
      await err.write(`  ${tail(path, width)}  ${clipped(detail, 100)}\n`);
    if (files.length > skippedShownMax)
      await err.write(`  … and ${files.length - skippedShownMax} more; --json lists all\n`);
  }
}

/** A folder may hold thousands of files that are no sessions. */
const skippedShownMax = 10;

const columnsOfTable = [
  { title: "session" },
  { title: "format" },
  { title: "size", align: "right" },
  { title: "notes", align: "right" },
  { title: "file" },
] as const;

/** The end of a path says more than its beginning. */
const tail = (path: string, width: number): string => {
  const line = clipped(path, path.length + 1);
  return line.length > width ? `…${line.slice(1 - width)}` : line;
};

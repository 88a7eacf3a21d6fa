import { basename, extname, resolve } from "node:path";
import { openWorkspace } from "../../host/workspace.ts";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { command, type CommandContext, type Outcome } from "../../program/command.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import {
  exportResultText,
  type ExportJob,
  exportTo,
  isExportFormat,
  type ExportRefusal,
  exportPieces,
  tooLarge,
} from "../../session/export-to.ts";
import { createProgress, openNamedLog } from "../../session/named-log.ts";
import { usageFailure } from "../../program/parse-arguments.ts";

export const exportCommand = command({
  name: "export",
  summary: "write a session as Markdown, HTML or JSONL",
  operands: {
    session: { shown: "session|file", summary: "a session's id, a prefix of one, or a transcript's path" },
  },
  options: {
    to: { type: "string", shown: "md|html|jsonl", summary: "the format (required)" },
    out: {
      type: "string",
      shown: "path|-",
      summary: "the target; by default <session>.<format> in this folder, - is stdout",
    },
    "mask-secrets": { type: "boolean", summary: "keys, tokens, passwords become [secret: <kind>]" },
    plain: { type: "boolean", summary: "messages only: no edits, summaries, thinking, damage" },
    force: { type: "boolean", summary: "overwrite an existing file" },
  },
  details: [
    "The export includes sub-agents, edits with their receipts, other branches and damage; offloaded results are in full. Images become files in <name>-images next to the export; on stdout they stay references.",
    "The files get the permissions that your umask gives: an export is meant to be shared. Check it before you do; --mask-secrets finds the shapes that docs/export.md lists, not every secret.",
  ],
  run: async (context, { operands, options }) => {
    if (!isExportFormat(options.to))
      return usageFailure(
        options.to === undefined ? "--to is missing" : `--to takes md, html or jsonl, not ${options.to}`,
        context.called,
      );
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const agents = await openWorkspace(context).agentLogs(log.path);
    try {
      const name = log.session?.id ?? basename(log.path, extname(log.path));
      const mask = options["mask-secrets"] ? { mask: maskSecrets } : {};
      const onProgress = createProgress(context.err, { verb: "read", size: log.source.size });
      const request = { name, origin: log.origin, format: log.format, source: log.source, agents, onProgress, ...mask };
      const mode = options.plain ? "plain" : "full";
      return await runExport(context, {
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

interface ExportInput extends ExportJob {
  readonly out: string | undefined;
}

async function runExport(context: CommandContext, { out, ...job }: ExportInput): Promise<Outcome> {
  if (out === "-") {
    const refusal = tooLarge(job);
    if (refusal !== undefined) return notExported(refusal);
    for await (const piece of exportPieces(job, undefined)) {
      if (context.out.state().kind !== "open") break;
      await context.out.write(piece);
    }
    return exitCode.fine;
  }
  const path = resolve(context.cwd, out ?? `${job.request.name}.${job.format}`);
  const exported = await exportTo(path, job);
  if (exported.kind === "refused") return notExported(exported);
  await context.out.write(`${exportResultText(exported)}\n`);
  return exitCode.fine;
}

const notExported = ({ why, message }: ExportRefusal): Failure =>
  failure({ code: why === "no-folder" ? exitCode.notFound : exitCode.refused, message, hint: hintByWhy[why] });

const hintByWhy: Readonly<Record<ExportRefusal["why"], string>> = {
  "too-large": "--to jsonl has no such limit.",
  "the-log": "Choose another place with --out.",
  "no-file": "Choose another place with --out.",
  taken: "Choose another place with --out, or write over it with --force.",
  "no-folder": "Make it first, or name another place with --out.",
};

import { type NotesCoverage, parseCoverage } from "palimpsest/internal/layers/3-notes/notes-coverage";
import { openCounted } from "palimpsest/internal/session/counted-log";
import { lastNotesFailure, type NotesFailure } from "palimpsest/internal/context/past-costs";
import { formatCount } from "palimpsest/internal/text/format-count";
import { command } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { joinLines } from "../text/format.ts";
import { openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const notesCommand = command({
  name: "notes",
  summary: "print the notes kept on a session",
  operands: { session: sessionOperand },
  options: { path: { type: "boolean", summary: "print only the path of the notes file" } },
  json: "path of the file; covers: the newest entry that the notes cover, tokens of the context then, the blob that holds them; notes: their text; failed: why the newest update failed. null for what does not exist",
  details: [
    "Shows the notes after the last complete update, which is what a compaction uses. The file itself may differ.",
    "Exit code 1: there are no notes, with --json too; --path still names the file.",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openCounted(log, log);
      const wrong = wrongFileFailure(log, opened);
      if (wrong !== undefined) return wrong;
      if (log.session === undefined)
        return failure({
          code: exitCode.negative,
          message: `${log.path} is another tool's file: no notes are kept on it`,
          hint: "`palimpsest sessions import` makes it a session of its own.",
        });
      const { id, deps } = log.session;
      const path = deps.notesFileFor?.(id).path ?? "";
      const { settings } = opened.fold.projection;
      const covers = parseCoverage(settings);
      const bytes = covers === undefined ? undefined : await log.blobs.get(covers.blob);
      const notes = bytes === undefined ? undefined : new TextDecoder().decode(bytes);
      const failed = lastNotesFailure(settings);
      const code = notes === undefined ? exitCode.negative : exitCode.fine;
      if (format === "json") {
        await context.out.json({ path, covers: covers ?? null, notes: notes ?? null, failed: failed ?? null });
        return code;
      }
      if (options.path) {
        await context.out.write(`${path}\n`);
        return exitCode.fine;
      }
      if (notes === undefined) await context.err.write("No notes.\n");
      else await context.out.write(notes);
      await context.err.write(aboutText({ path, covers: notes === undefined ? undefined : covers, failed }));
      return code;
    } finally {
      await log.source.close();
    }
  },
});

function aboutText({
  path,
  covers,
  failed,
}: {
  readonly path: string;
  readonly covers: NotesCoverage | undefined;
  readonly failed: NotesFailure | undefined;
}): string {
  const lines = [
    ...(covers === undefined
      ? []
      : [
          `file    ${path}`,
          `covers  up to ${covers.entry}, at ${formatCount(covers.contextTokens)} tokens of context`,
        ]),
    ...(failed === undefined ? [] : [`failed  the newest update: ${joinLines(failed.message)}`]),
  ];
  return lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
}

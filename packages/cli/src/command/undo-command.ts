import { SessionView } from "palimpsest/internal/context/session-view";
import type { Session } from "palimpsest/internal/session/session";
import { type UndoOutcome, type UndoOptions, undoRefusal } from "palimpsest/internal/session/undo";
import { entryId, type Tokens } from "palimpsest/internal/schema/brand";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { type NamedLog, openNamedLog } from "../session/named-log.ts";
import { formatNumber } from "../text/format.ts";
import { sessionOperand } from "../program/parse-arguments.ts";
import { openForWriting } from "../session/open-for-writing.ts";
import { branchPointText, undoReportText } from "../text/receipt-text.ts";
import { sessionFailure } from "../session/session-failure.ts";
import { settingsForSession } from "../session/settings-for-log.ts";

export const undoCommand = command({
  name: "undo",
  summary: "undo an edit; undoing an undo redoes the edit",
  operands: {
    session: sessionOperand,
    edit: { shown: "edit", summary: "the edit's uuid; by default the newest that is in force", takes: "optional" },
  },
  options: {
    branch: { type: "boolean", summary: "continue from before the edit instead; later turns stay on the old branch" },
    "bound-thinking": {
      type: "boolean",
      summary: "the model binds thinking to its prefix: leave out thinking after the edit",
    },
  },
  json: "session, undone edits, the redone one (null if none is), what was said, receipts, tokens of the context now",
  details: [
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const settings = await settingsForSession(context, log);
    const undoOptions: UndoOptions = {
      ...(operands.edit === undefined ? {} : { target: entryId(operands.edit) }),
      mode: options.branch ? "branch" : "path",
      blockingTokens: settings.thresholds.blocking,
      thinking: options["bound-thinking"] ? "bound" : "free",
    };
    try {
      const refusal = log.session === undefined ? await undoRefusal(log, log, undoOptions) : undefined;
      return refusal === undefined
        ? await runUndo(context, { log, undoOptions, settings, format })
        : undoFailure(refusal);
    } finally {
      await log.source.close();
    }
  },
});

async function runUndo(
  context: CommandContext,
  {
    log,
    undoOptions,
    settings,
    format,
  }: {
    readonly log: NamedLog;
    readonly undoOptions: UndoOptions;
    readonly settings: ResolvedSettings;
    readonly format: "text" | "json";
  },
): Promise<Outcome> {
  const opened = await openForWriting(context, log);
  if (opened.kind === "failure") return opened;
  const { session, deps } = opened;
  const view = new SessionView({ session, deps, settings: () => settings, thinking: () => undoOptions.thinking });
  try {
    const outcome = await view.undo(undoOptions);
    if (outcome.kind === "undone" || outcome.kind === "branched") {
      // An undo is reported only once a power cut can no longer undo it.
      const ended = await session.endTurn();
      if (ended.kind === "failed") return sessionFailure(ended, session.id);
    }
    return await reportOutcome(context, { outcome, session, settings, format });
  } finally {
    await session.close();
  }
}

const undoFailure = ({ why, text }: Extract<UndoOutcome, { kind: "refused" }>): Failure =>
  failure({
    code: why === "not-on-path" ? exitCode.notFound : exitCode.refused,
    message: text,
    hint: "`palimpsest sessions show` lists the edits and their state.",
  });

async function reportOutcome(
  { out }: CommandContext,
  {
    outcome,
    session,
    settings,
    format,
  }: {
    readonly outcome: UndoOutcome;
    readonly session: Session;
    readonly settings: ResolvedSettings;
    readonly format: "text" | "json";
  },
): Promise<Outcome> {
  switch (outcome.kind) {
    case "failed":
      return sessionFailure(outcome, session.id);
    case "refused":
      return undoFailure(outcome);
    case "branched":
      if (format === "json") {
        const { at, before, branch } = outcome;
        await out.json({ session: session.id, branchedAt: at, before: before.id, branch: branch ?? null });
      } else {
        await out.write(
          `Session ${session.id} goes on ${branchPointText(outcome)}; the branch it left stays in the log.\n`,
        );
        if (outcome.branch !== undefined) await out.write(backText(session.id, [outcome.branch]));
      }
      return exitCode.fine;
    case "undone":
      if (format === "json") {
        const { edits, said, receipts, undos } = outcome;
        const undone = edits.map((edit) => edit.id);
        const redone = outcome.redone?.id ?? null;
        await out.json({
          session: session.id,
          undone,
          redone,
          undos,
          said,
          receipts,
          tokens: await contextTokens(session),
        });
        return exitCode.fine;
      }
      await out.write(undoReportText(outcome, out.style));
      const tokens = await contextTokens(session);
      await out.write(`context   now about ${formatNumber(tokens)} tokens\n${tooFullText(tokens, settings)}`);
      await out.write(backText(session.id, outcome.undos.toReversed()));
      return exitCode.fine;
  }
}

/** What was undone stays so, but the next request may need the room. */
function tooFullText(tokens: Tokens, { thresholds, window }: ResolvedSettings): string {
  const limit = thresholds.compact;
  if (tokens < limit) return "";
  return `          more than ${formatNumber(limit)} of the window of ${formatNumber(window.tokens)}: the next request will be made smaller again\n`;
}

/** As every other command counts it: read anew, with the provider's counts and what requests carry besides messages. */
async function contextTokens(session: Session): Promise<Tokens> {
  const now = await session.readUndone(new Set());
  if (now === undefined) throw new Error(`the session ${session.id} that was just written can't be read`);
  return now.ledger.size.tokens;
}

/** How to redo what was undone, in the order in which it has to be done. */
function backText(session: string, undos: readonly string[]): string {
  const lines = undos.map((id) => `palimpsest undo ${session} ${id}\n`);
  if (lines.length === 1) return `to go back: ${lines.join("")}`;
  const all = lines.length === 2 ? "both" : `all ${formatNumber(lines.length)}`;
  return `to go back, ${all} of these, in this order:\n${lines.map((line) => `  ${line}`).join("")}`;
}

import { SessionView } from "palimpsest/internal/context/session-view";
import type { PinsReport } from "palimpsest/internal/layers/4-compact/compaction-budgets";
import { openCounted } from "palimpsest/internal/session/counted-log";
import type { Session } from "palimpsest/internal/session/session";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Receipt } from "palimpsest/internal/schema/receipt";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { type CommandAction, command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { joinLines } from "../text/format.ts";
import { type NamedLog, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { settingsForSession } from "../session/settings-for-log.ts";
import { openForWriting } from "../session/open-for-writing.ts";
import { findPin, pinsReport, pinsText, type PinVerb, type PinQuery } from "../session/find-pin.ts";
import { sessionOperand } from "../program/parse-arguments.ts";
import { sessionFailure } from "../session/session-failure.ts";

export const pinCommand = pinningCommand({
  verb: "pin",
  summary: "keep a message byte for byte through every compaction",
  details: [
    "A result is pinned with its call, a reply with the results of its calls. Pins may take a tenth of the window; above that they stay, and the largest are named.",
  ],
});
export const unpinCommand = pinningCommand({
  verb: "unpin",
  summary: "let a pinned message be cleared and summarised again",
  details: [],
});

function pinningCommand({
  verb,
  summary,
  details,
}: {
  verb: PinVerb;
  summary: string;
  details: readonly string[];
}): CommandAction {
  return command({
    name: verb,
    summary,
    operands: {
      session: sessionOperand,
      entry: {
        shown: "entry",
        summary:
          "the message's uuid, the beginning of one that only one has, or the id of the call that a result answers",
      },
    },
    json: "session, entry, edit, receipt, pins with their tokens, tokens, budgetTokens, warning",
    details: [
      ...details,
      "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
    ],
    run: async (context, { operands, format }) => {
      const log = await openNamedLog(context, operands.session);
      if (log.kind === "failure") return log;
      try {
        // Checked before another tool's log is copied: if nothing can be pinned, no copy is made.
        const counted = await openCounted(log, log);
        const wrong =
          wrongFileFailure(log, counted) ??
          pinRefusal(counted.fold, { verb, named: operands.entry, session: operands.session });
        if (wrong !== undefined) return wrong;
        return await pinEntry(context, { log, verb, named: operands.entry, format });
      } finally {
        await log.source.close();
      }
    },
  });
}

async function pinEntry(
  context: CommandContext,
  {
    log,
    verb,
    named,
    format,
  }: { readonly log: NamedLog; readonly verb: PinVerb; readonly named: string; readonly format: "text" | "json" },
): Promise<Outcome> {
  const opened = await openForWriting(context, log);
  if (opened.kind === "failure") return opened;
  const { session, deps } = opened;
  try {
    // Another process may have written since the first check.
    const wrong = pinRefusal(session.fold, { verb, named, session: session.id });
    if (wrong !== undefined) return wrong;
    const found = findPin(session.fold, { verb, named });
    if (found.kind !== "found") throw new Error(`${named} was found a moment ago`);
    const { entry } = found;
    const resolved = await settingsForSession(context, log);
    const view = new SessionView({ session, deps, settings: () => resolved });
    const edited = await view.pin(entry, verb);
    if (edited.kind === "failed") return sessionFailure(edited, session.id);
    const ended = await session.endTurn();
    if (ended.kind === "failed") return sessionFailure(ended, session.id);
    const [edit] = edited.entries;
    const report = pinsReport(session.fold, resolved.window.tokens);
    await reportPin(context, { session, verb, entry, edit, receipt: edited.receipt, report, format });
    return exitCode.fine;
  } finally {
    await session.close();
  }
}

interface PinRefusalInput extends PinQuery {
  /** As the user named it, for the line to copy. */
  readonly session: string;
}

function pinRefusal(fold: Fold, { session, ...sought }: PinRefusalInput): Failure | undefined {
  const found = findPin(fold, sought);
  const hint =
    "`palimpsest context` names the largest entries of the view, `palimpsest sessions show` the pins; a message's uuid is in its line of the transcript.";
  switch (found.kind) {
    case "found":
      return undefined;
    case "unknown":
      return failure({ code: exitCode.notFound, message: found.message, hint });
    case "pinned":
      return failure({ code: exitCode.refused, message: found.message, hint });
    case "reduced":
      return failure({
        code: exitCode.refused,
        message: found.message,
        hint: `Take that back first: palimpsest undo ${joinLines(session)} ${joinLines(found.by)}`,
      });
  }
}

interface PinReport {
  readonly session: Session;
  readonly verb: PinVerb;
  readonly entry: EntryId;
  readonly edit: EntryId | undefined;
  readonly receipt: Receipt;
  readonly report: PinsReport;
  readonly format: "text" | "json";
}

async function reportPin(
  { out, err }: CommandContext,
  { session, verb, entry, edit, receipt, report, format }: PinReport,
): Promise<void> {
  if (format === "json") {
    const { warning, ...figures } = report;
    await out.json({ session: session.id, entry, edit: edit ?? null, receipt, ...figures, warning: warning ?? null });
    return;
  }
  const { warning } = report;
  await out.write(`${verb === "pin" ? "pinned" : "unpinned"}: ${joinLines(entry)}\n`);
  await out.write(`${pinsText(report)}\n`);
  if (edit !== undefined) await out.write(`to go back: palimpsest undo ${session.id} ${edit}\n`);
  if (warning !== undefined) await err.write(`${joinLines(warning)}\n`);
}

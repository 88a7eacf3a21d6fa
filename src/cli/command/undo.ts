import type { EngineDeps } from "../../engine.ts";
import { createEngine } from "../../engine.ts";
import { type AdoptedOnce, adoptOnce, type ForeignLog } from "../../loop/adopt-once.ts";
import { hashOf } from "../../loop/hash.ts";
import { adoptedSources } from "../../loop/adopted.ts";
import { openCounted } from "../../loop/counted.ts";
import { openSession, readLog, Session } from "../../loop/session.ts";
import { type Undone, undo, type UndoOptions, undoRefusal } from "../../loop/undo.ts";
import { entryId, type Tokens } from "../../schema/brand.ts";
import { command, type CommandContext, type Outcome } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { type NamedLog, openNamedLog } from "../named-log.ts";
import { humanCount, oneLine } from "../human.ts";
import { receiptText } from "../receipt-text.ts";
import { sessionOperand } from "../session-operand.ts";
import { ownVersion } from "../version.ts";
import { writingFailure } from "../writing-failure.ts";

export const undoCommand = command({
  name: "undo",
  summary: "take an edit back; undoing an undo brings it again",
  operands: {
    session: sessionOperand,
    edit: { shown: "edit", summary: "the edit's uuid; the newest one in force if left out", takes: "optional" },
  },
  options: {
    branch: { type: "boolean", summary: "go on from before the edit instead; later turns stay on the old branch" },
    "bound-thinking": {
      type: "boolean",
      summary: "the model binds thinking to its prefix: leave out what stands behind the edit",
    },
  },
  json: "session, undone edits, what was said, receipts, tokens of the context now",
  details: [
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const asked: UndoOptions = {
      ...(operands.edit === undefined ? {} : { target: entryId(operands.edit) }),
      mode: options.branch ? "branch" : "path",
      ...(await limitsFor(context, log)),
      thinking: options["bound-thinking"] ? "bound" : "free",
    };
    try {
      const refusal = log.session === undefined ? await undoRefusal(log, log, asked) : undefined;
      return refusal === undefined ? await undoing(context, { log, asked, format }) : refused(refusal);
    } finally {
      await log.source.close();
    }
  },
});

/** The limit of the model that the session talks to, and what every request to it carries besides the view. */
async function limitsFor(
  context: CommandContext,
  log: NamedLog,
): Promise<Pick<UndoOptions, "blockingTokens" | "fixedTokens">> {
  const counted = await openCounted(log, { source: log.source, origin: log.origin });
  const { model, serverTokens, recordedTokens, ledger } = counted;
  const { numbers } = await createEngine(context).settings({ model, serverTokens, recordedTokens });
  return { blockingTokens: numbers.thresholds.blocking, fixedTokens: ledger.fixedTokens };
}

interface Undoing {
  readonly log: NamedLog;
  readonly asked: UndoOptions;
  readonly format: "text" | "json";
}

async function undoing(context: CommandContext, { log, asked, format }: Undoing): Promise<Outcome> {
  const opened = await openForWriting(context, log);
  if (opened.kind === "failure") return opened;
  const { session } = opened;
  try {
    const outcome = await undo(session, asked);
    if (outcome.kind === "undone" || outcome.kind === "branched") {
      // Nobody is told of an undo that a power cut could still take away.
      const ended = await session.endTurn();
      if (ended.kind === "failed") return writingFailure(ended, session.id);
    }
    return await report(context, { outcome, session, format });
  } finally {
    await session.close();
  }
}

async function openForWriting(
  context: CommandContext,
  log: NamedLog,
): Promise<{ kind: "session"; session: Session } | Failure> {
  const circumstances = { cwd: context.cwd, version: ownVersion() };
  if (log.session !== undefined) {
    const opened = await openSession(log.session.deps, { id: log.session.id, circumstances, mode: "resume" });
    return opened.kind === "open"
      ? { kind: "session", session: opened.session }
      : writingFailure(opened, log.session.id);
  }
  const project = await createEngine(context).project();
  if (project.kind === "failed") return writingFailure(project, "of this project");
  return adopted(context, log, { ...project, circumstances });
}

interface AdoptInto {
  readonly deps: EngineDeps;
  readonly circumstances: { readonly cwd: string; readonly version: string };
}

/** A copy of the very same file that was made before is gone on with: a second undo takes back one more edit. */
async function adopted(context: CommandContext, log: NamedLog, into: AdoptInto): Promise<OpenedSession> {
  const { deps, circumstances } = into;
  const mark = log.translated?.from ?? { sha256: await hashOf(deps.sha256, log.source) };
  const known = (await adoptedSources(deps)).get(mark.sha256);
  const first: AdoptedOnce =
    known === undefined ? await adoptOnce(deps, foreignOf(log)) : { kind: "adopted", id: known };
  const copy = first.kind === "adopted" ? first.id : undefined;
  const made = first.kind === "adopted" ? await deps.transcripts.openForWriting(first.id) : first;
  if (made.kind !== "open") return writingFailure(made, copy ?? log.path);
  const { id } = made.writer;
  const opened = await readLog(deps, id);
  if (opened === undefined) throw new Error(`the session ${id} that was just opened can't be read`);
  const which = copy === undefined ? "a copy" : "its copy";
  await context.err.write(`${oneLine(log.path)} belongs to another tool; working on ${which}: session ${id}\n`);
  const session = new Session(deps, {
    writer: made.writer,
    log: opened,
    circumstances: { sessionId: id, ...circumstances },
  });
  return { kind: "session", session };
}

type OpenedSession = { readonly kind: "session"; readonly session: Session } | Failure;

const foreignOf = (log: NamedLog): ForeignLog => ({
  path: log.path,
  format: log.format ?? "claude-code",
  source: log.source,
  ...(log.translated === undefined ? {} : { translatedFrom: log.translated.from }),
});

const refused = ({ why, text }: Extract<Undone, { kind: "refused" }>): Failure =>
  failure({
    code: why === "not-on-path" ? exitCode.notFound : exitCode.refused,
    message: text,
    hint: "`palimpsest sessions show` lists the edits and their state.",
  });

interface Reported {
  readonly outcome: Undone;
  readonly session: Session;
  readonly format: "text" | "json";
}

async function report({ out }: CommandContext, { outcome, session, format }: Reported): Promise<Outcome> {
  switch (outcome.kind) {
    case "failed":
      return writingFailure(outcome, session.id);
    case "refused":
      return refused(outcome);
    case "branched":
      if (format === "json") {
        const { at, before, branch } = outcome;
        await out.json({ session: session.id, branchedAt: at, before: before.id, branch: branch ?? null });
      } else {
        const { edit, id } = outcome.before;
        const where =
          edit.type === "branch" ? "where it was before the branch" : `from before ${edit.type} ${oneLine(id)}`;
        await out.write(`Session ${session.id} goes on ${where}; the branch it left stays in the log.\n`);
        if (outcome.branch !== undefined) await out.write(backText(session.id, [outcome.branch]));
      }
      return exitCode.fine;
    case "undone":
      if (format === "json") {
        const { edits, said, receipts, undos } = outcome;
        const undone = edits.map((edit) => edit.id);
        await out.json({ session: session.id, undone, undos, said, receipts, tokens: await contextTokens(session) });
        return exitCode.fine;
      }
      for (const line of outcome.said) await out.write(`${oneLine(line)}\n`);
      for (const [at, edit] of outcome.edits.entries()) {
        const receipt = outcome.receipts[at];
        await out.write(
          `undone: ${edit.edit.type} ${oneLine(edit.id)}\n${receipt === undefined ? "" : receiptText(receipt, out.style)}`,
        );
      }
      await out.write(`context   now about ${humanCount(await contextTokens(session))} tokens\n`);
      await out.write(backText(session.id, outcome.undos.toReversed()));
      return exitCode.fine;
  }
}

/** As every other command counts it: read anew, with what the provider counted and what requests carry besides messages. */
async function contextTokens(session: Session): Promise<Tokens> {
  const now = await session.readUndone(new Set());
  if (now === undefined) throw new Error(`the session ${session.id} that was just written can't be read`);
  return now.ledger.size.tokens;
}

/** How to bring back what was undone, in the order in which it has to be done. */
const backText = (session: string, undos: readonly string[]): string =>
  undos.map((id) => `to go back: palimpsest undo ${session} ${id}\n`).join("");

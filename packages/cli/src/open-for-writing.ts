import type { EngineDeps } from "./host/engine.ts";
import { createEngine } from "./host/engine.ts";
import { type AdoptedOnce, adoptOnce, type ForeignLog } from "palimpsest/internal/session/adopt-once";
import { adoptedSources } from "palimpsest/internal/session/adopted";
import { hashOf } from "palimpsest/internal/session/hash";
import { readLog } from "palimpsest/internal/session/read-log";
import { openSession, Session } from "palimpsest/internal/session/session";
import type { CommandContext } from "./command.ts";
import type { Failure } from "./failure.ts";
import { oneLine } from "./human.ts";
import type { NamedLog } from "./named-log.ts";
import { ownVersion } from "./version.ts";
import { writingFailure } from "./writing-failure.ts";

export type OpenedSession =
  | { readonly kind: "session"; readonly session: Session; readonly deps: EngineDeps }
  | Failure;

/** The session that a log is, or for another tool's log a session of our own that holds a copy of it. */
export async function openForWriting(context: CommandContext, log: NamedLog): Promise<OpenedSession> {
  const circumstances = { cwd: context.cwd, version: ownVersion() };
  if (log.session !== undefined) {
    const opened = await openSession(log.session.deps, { id: log.session.id, circumstances, mode: "resume" });
    return opened.kind === "open"
      ? { kind: "session", session: opened.session, deps: log.session.deps }
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
  return { kind: "session", session, deps };
}

const foreignOf = (log: NamedLog): ForeignLog => ({
  path: log.path,
  format: log.format ?? "claude-code",
  source: log.source,
  ...(log.translated === undefined ? {} : { translatedFrom: log.translated.from }),
});

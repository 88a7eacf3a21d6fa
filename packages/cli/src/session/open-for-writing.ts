import { openWorkspace } from "../host/workspace.ts";
import type { ProjectStore } from "../host/project-store.ts";
import { type AdoptOutcome, adoptOnce, type ForeignLog } from "palimpsest/internal/session/adopt-once";
import { findSessionsBySource, hashSource } from "palimpsest/internal/session/session-origin";
import { readLog } from "palimpsest/internal/session/counted-log";
import { openSession, Session } from "palimpsest/internal/session/session";
import type { CommandContext } from "../program/command.ts";
import type { Failure } from "../program/failure.ts";
import { joinLines } from "../text/format.ts";
import type { NamedLog } from "./named-log.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { releaseSession } from "../host/gateway/gateway-place.ts";
import { busyGatewayFailure, sessionFailure } from "./session-failure.ts";

type OpenForWritingOutcome =
  | { readonly kind: "session"; readonly session: Session; readonly deps: ProjectStore }
  | Failure;

/** The session of a log, or for another tool's log a session of our own that holds a copy of it. */
export async function openForWriting(context: CommandContext, log: NamedLog): Promise<OpenForWritingOutcome> {
  const circumstances = { cwd: context.cwd, version: readOwnVersion() };
  if (log.session !== undefined) {
    const { id, deps } = log.session;
    const open = () => openSession(deps, { id, circumstances, mode: "resume" });
    let opened = await open();
    if (opened.kind === "busy") {
      // The gateway keeps a conversation open for a while after each request.
      const released = await releaseSession(context, id);
      if (released === "running") return busyGatewayFailure(id);
      if (released === "released") opened = await open();
    }
    return opened.kind === "open" ? { kind: "session", session: opened.session, deps } : sessionFailure(opened, id);
  }
  const project = await openWorkspace(context).project();
  if (project.kind === "failed") return sessionFailure(project, "of this project");
  return openAdoptedCopy(context, log, { ...project, circumstances });
}

/** An earlier copy of the very same file is used again: a second undo takes back one more edit. */
async function openAdoptedCopy(
  context: CommandContext,
  log: NamedLog,
  project: { readonly deps: ProjectStore; readonly circumstances: { readonly cwd: string; readonly version: string } },
): Promise<OpenForWritingOutcome> {
  const { deps, circumstances } = project;
  const mark = log.translated?.from ?? { sha256: await hashSource(deps.sha256, log.source) };
  const known = (await findSessionsBySource(deps)).get(mark.sha256);
  const adoption: AdoptOutcome =
    known === undefined ? await adoptOnce(deps, toForeignLog(log)) : { kind: "adopted", id: known };
  const copy = adoption.kind === "adopted" ? adoption.id : undefined;
  const written = adoption.kind === "adopted" ? await deps.transcripts.openForWriting(adoption.id) : adoption;
  if (written.kind !== "open") return sessionFailure(written, copy ?? log.path);
  const { id } = written.writer;
  const opened = await readLog(deps, id);
  if (opened === undefined) throw new Error(`the session ${id} that was just opened can't be read`);
  const which = copy === undefined ? "a copy" : "its copy";
  await context.err.write(`${joinLines(log.path)} belongs to another tool; working on ${which}: session ${id}\n`);
  const session = new Session(deps, {
    writer: written.writer,
    log: opened,
    circumstances: { sessionId: id, ...circumstances },
  });
  return { kind: "session", session, deps };
}

const toForeignLog = (log: NamedLog): ForeignLog => ({
  path: log.path,
  format: log.format ?? "claude-code",
  source: log.source,
  ...(log.translated === undefined ? {} : { translatedFrom: log.translated.from }),
});

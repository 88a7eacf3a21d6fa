import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import { type Millis, millis, type SessionId } from "palimpsest/internal/schema/brand";
import { deleteSessions, type DeletionReport } from "palimpsest/internal/session/delete-sessions";
import { formatBytes, formatCount, plural } from "palimpsest/internal/text/format-count";
import type { Workspace } from "../../host/workspace.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import type { AgentParts } from "../agent-options.ts";
import { expiredTogetherMax, titleChunkBytes, titleEndBytes } from "../limits.ts";

/** The deletion of old sessions in the background. */
export interface Retention {
  /** Returns each message once. */
  readonly takeNews: () => readonly string[];
  /** No further session is deleted; one whose deletion has begun is finished now or by the next start. */
  readonly stop: () => void;
}

/** Starts the deletion, if the setting asks for it. */
export function startRetention(
  { workspace, options, session, deps }: Pick<AgentParts, "workspace" | "options" | "session" | "deps">,
  retentionDays: number | undefined,
): Retention {
  const controller = new AbortController();
  const news: string[] = [];
  if (options.retention === "on" && retentionDays !== undefined)
    void expireSessions(
      { workspace, now: deps.now },
      { retentionDays, during: session.id, signal: controller.signal },
    ).then((messages) => news.push(...messages));
  return { takeNews: () => news.splice(0), stop: () => controller.abort() };
}

interface ExpireInput {
  readonly retentionDays: number;
  /** The caller's own session. */
  readonly during: SessionId;
  readonly signal: AbortSignal;
}

/**
 * Deletes the sessions of every project that were not used for so many days, except those that are open or that the user
 * gave a title. Returns what the user should know. Must not reject.
 */
async function expireSessions(
  { workspace, now }: { readonly workspace: Pick<Workspace, "stores">; readonly now: () => Millis },
  { retentionDays, during, signal }: ExpireInput,
): Promise<readonly string[]> {
  const before = millis(now() - retentionDays * 24 * 60 * 60 * 1000);
  const reports: DeletionReport[] = [];
  const failures: string[] = [];
  try {
    for (const store of await workspace.stores("all")) {
      const expired = await findExpired(store, { before, during, signal });
      const { removers } = store;
      for (let at = 0; at < expired.length && !signal.aborted; at += expiredTogetherMax)
        reports.push(
          await deleteSessions(store, { sessions: expired.slice(at, at + expiredTogetherMax), removers, during }),
        );
      // What was interrupted earlier, if nothing else was deleted.
      if (!signal.aborted && (await store.deletion.detached()).length > 0)
        reports.push(await deleteSessions(store, { sessions: [], removers, during }));
    }
  } catch (error) {
    // The next start tries again: nobody waits for this work, so that it must not end the process.
    failures.push(`Old sessions could not be deleted (retentionDays): ${String(error)}`);
  }
  return [...reportTexts(reports, retentionDays), ...failures];
}

async function findExpired(
  { sessions, leases, transcripts }: ProjectStore,
  { before, during, signal }: Pick<ExpireInput, "during" | "signal"> & { readonly before: Millis },
): Promise<readonly SessionId[]> {
  const expired: SessionId[] = [];
  for (const { sessionId: id, modified, fileMtime } of await sessions.list()) {
    // An imported session says when it was written, its file when it was imported.
    const usedAt = Math.max(Date.parse(modified) || 0, fileMtime);
    if (signal.aborted || id === during || usedAt >= before) continue;
    if ((await leases.look(id)).kind === "held") continue;
    const source = await transcripts.openForReading(id);
    if (source === undefined) continue;
    try {
      if (!(await hasUserTitle(source))) expired.push(id);
    } finally {
      await source.close();
    }
  }
  return expired;
}

/** Titles are usually near the ends, so these are read first: a titled session is looked at again at every start. */
async function hasUserTitle(source: ByteSource): Promise<boolean> {
  const { size } = source;
  const ends = [
    { start: Math.max(0, size - titleEndBytes), end: size },
    { start: 0, end: Math.min(size, titleEndBytes) },
  ];
  for (const range of ends) if (userTitle.test(await readText(source, range))) return true;
  for (let start = 0; start < size; start += titleChunkBytes - titleOverlapBytes)
    if (userTitle.test(await readText(source, { start, end: Math.min(size, start + titleChunkBytes) }))) return true;
  return false;
}

/** Inside of a text its quotes would be escaped. */
const userTitle = /"type"\s{0,4}:\s{0,4}"custom-title"/;
const titleOverlapBytes = 64;

async function readText(source: ByteSource, range: { readonly start: number; readonly end: number }): Promise<string> {
  return Buffer.from(await source.read(range)).toString("latin1");
}

function reportTexts(reports: readonly DeletionReport[], retentionDays: number): readonly string[] {
  const count = reports.reduce((total, { deleted }) => total + deleted.length, 0);
  const size = reports.reduce((total, { bytesFreed }) => total + bytesFreed, 0);
  const days = `${formatCount(retentionDays)} ${plural(retentionDays, "day")}`;
  const deleted = `Deleted ${formatCount(count)} ${plural(count, "session")} not used for ${days} (retentionDays), ${formatBytes(size)}.`;
  const unfinished = reports.flatMap((report) => report.unfinished);
  const [first] = unfinished;
  return [
    ...(count === 0 ? [] : [deleted]),
    ...(first === undefined ? [] : [`Session ${first.session} is deleted, but not all of it: ${first.message}`]),
  ];
}

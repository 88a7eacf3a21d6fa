import type { SessionSummary } from "palimpsest/internal/ports/store";
import type { Bytes, SessionId } from "palimpsest/internal/schema/brand";
import {
  deleteSessions,
  type DeletionPreview,
  type DeletionReport,
  previewDeletion,
  type SessionRemover,
} from "palimpsest/internal/session/delete-sessions";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { canAskUser } from "../../compact/ask-to-commit.ts";
import { openWorkspace, type Workspace } from "../../host/workspace.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import { releaseSession } from "../../host/gateway/gateway-place.ts";
import { askYesNo } from "../../program/ask-yes-no.ts";
import { command, type CommandContext, type Outcome } from "../../program/command.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { memoryRemover } from "../../memory/forget-memory.ts";
import { openLogFailure } from "../../session/named-log.ts";
import { busyGatewayFailure, sessionFailure } from "../../session/session-failure.ts";
import { clip, formatNumber, quantity } from "../../text/format.ts";
import { table } from "../../text/table.ts";
import { unfinishedFailure } from "./gc-command.ts";

export const deleteCommand = command({
  name: "delete",
  summary: "delete sessions for good, with all that belongs to them alone",
  operands: {
    sessions: { shown: "session", summary: "a session's id, the beginning of one, or its path", takes: "some" },
  },
  options: {
    yes: { type: "boolean", short: "y", summary: "do not ask" },
    "keep-memories": { type: "boolean", summary: "keep the memories that came from them" },
  },
  json: "deleted (session, title, modified, messages, bytes, derived), unfinished (session, message), bytesFreed, blobsLeft",
  details: [
    "Shows what will go and asks. Without a terminal, or with --json, it deletes nothing unless --yes is given (exit code 5).",
    "With a session go its transcript, offloaded results, notes, plan and sub-agents' logs, the memories that came from it alone, and the blobs that nothing else in the project names.",
    "A session that is open is not deleted (exit code 4). Another tool's file is never deleted (exit code 5). If one of the sessions is refused, none is deleted.",
    "If the process is killed, each session either still opens or is gone; the next `sessions delete` or `sessions gc` in the project finishes the work. Memories go only here: if the process is killed before that, they stay, and `palimpsest memory forget` removes them.",
  ],
  run: async (context, { operands, options, format }) => {
    const found = await findSessions(context, operands.sessions);
    if ("kind" in found) return found;
    const memories = options["keep-memories"] ? "kept" : "forgotten";
    const described = await describeSessions(found, memories);
    if (!options.yes) {
      if (format === "json" || !canAskUser(context)) return noAnswerFailure(described.length);
      await context.out.write(previewText(described, context.out.columns ?? 100));
      const question = `Delete ${described.length === 1 ? "it" : `these ${described.length} sessions`} for good?`;
      if ((await askYesNo(context, question)) === "no") {
        await context.out.write("Nothing was deleted.\n");
        return exitCode.negative;
      }
    }
    return deleteDescribed(context, { described, memories, format });
  },
});

interface OwnSession {
  readonly id: SessionId;
  readonly store: ProjectStore;
  /** `detached`: an earlier deletion was interrupted. */
  readonly state: "stored" | "detached";
}

/** One entry for each session, however often it was named. */
async function findSessions(
  context: CommandContext,
  names: readonly string[],
): Promise<readonly OwnSession[] | Failure> {
  const workspace = openWorkspace(context);
  const foundById = new Map<SessionId, OwnSession>();
  for (const name of names) {
    const found = await findOwnSession({ context, workspace }, name);
    if ("kind" in found) return found;
    if (!foundById.has(found.id)) foundById.set(found.id, found);
  }
  return [...foundById.values()];
}

interface SearchPlace {
  readonly context: CommandContext;
  readonly workspace: Workspace;
}

async function findOwnSession({ context, workspace }: SearchPlace, name: string): Promise<OwnSession | Failure> {
  const resolved = await workspace.resolveLog(name);
  switch (resolved.kind) {
    case "ours": {
      const { id, deps: store } = resolved;
      let lease = await store.leases.look(id);
      if (lease.kind === "held") {
        // The gateway keeps a conversation open for a while after each request.
        if ((await releaseSession(context, id)) === "running") return busyGatewayFailure(id);
        lease = await store.leases.look(id);
      }
      if (lease.kind === "held") return sessionFailure({ kind: "busy", holder: lease.holder }, id);
      return { id, store, state: "stored" };
    }
    case "foreign":
      await resolved.source.close();
      return failure({
        code: exitCode.refused,
        message: `${resolved.path} belongs to another tool: only sessions of our own are deleted`,
        hint: "`palimpsest sessions list --all` shows them.",
      });
    case "missing":
    case "not-a-file":
    case "unreadable":
    case "ambiguous":
      return (await findDetached(workspace, name)) ?? openLogFailure(resolved, name);
  }
}

async function findDetached(workspace: Workspace, name: string): Promise<OwnSession | undefined> {
  for (const store of await workspace.stores("all"))
    for (const id of await store.deletion.detached()) if (id === name) return { id, store, state: "detached" };
  return undefined;
}

interface DescribedSession extends OwnSession, DeletionPreview {
  /** Undefined if an earlier deletion was interrupted, or nothing of it can be read. */
  readonly summary: SessionSummary | undefined;
}

async function describeSessions(
  sessions: readonly OwnSession[],
  memories: MemoryChoice,
): Promise<readonly DescribedSession[]> {
  const rowsByStore = new Map<ProjectStore, readonly SessionSummary[]>();
  const described: DescribedSession[] = [];
  for (const session of sessions) {
    const { id, store } = session;
    const rows = rowsByStore.get(store) ?? (await store.sessions.list("all"));
    rowsByStore.set(store, rows);
    const removers = [...chosenRemovers(store, memories), ...store.removers];
    const preview = await previewDeletion(store, { session: id, removers });
    described.push({ ...session, ...preview, summary: rows.find(({ sessionId }) => sessionId === id) });
  }
  return described;
}

type MemoryChoice = "kept" | "forgotten";

/** Only here: a session that is deleted for its age, or by a collection of garbage, takes no memory with it. */
const chosenRemovers = ({ memories }: ProjectStore, choice: MemoryChoice): readonly SessionRemover[] =>
  choice === "kept" ? [] : [memoryRemover(memories)];

const noAnswerFailure = (count: number): Failure =>
  failure({
    code: exitCode.refused,
    message: `nothing was deleted: there is no terminal to ask about ${quantity(count, "session")}`,
    hint: "Add --yes to delete without a question.",
  });

function previewText(sessions: readonly DescribedSession[], columns: number): string {
  const rows = sessions.map(({ id, summary, bytes, state }) => [
    id.slice(0, 8),
    summary?.modified.slice(0, 16).replace("T", " ") ?? "-",
    summary?.messageCount === undefined ? "?" : formatNumber(summary.messageCount),
    formatBytes(bytes),
    clip(state === "detached" ? "(an interrupted deletion)" : titleText(summary), Math.max(16, columns - 50)),
  ]);
  const listed = table(
    [
      { title: "session" },
      { title: "modified" },
      { title: "messages", align: "right" },
      { title: "size", align: "right" },
      { title: "title" },
    ],
    rows,
  );
  const derived = sessions.flatMap(({ id, derived: texts }) =>
    texts.map((text) => `${id.slice(0, 8)}: with it go ${text}\n`),
  );
  const shared = sessions.some(({ blobs }) => blobs > 0)
    ? "The size includes offloaded results. Those that another session names stay.\n"
    : "";
  return `${listed}${derived.join("")}${shared}`;
}

const titleText = (summary: SessionSummary | undefined): string => summary?.summary ?? summary?.firstPrompt ?? "";

async function deleteDescribed(
  context: CommandContext,
  { described, memories, format }: DeleteInput,
): Promise<Outcome> {
  const report = await deleteByStore(described, memories);
  const deleted = described.filter(({ id }) => report.deleted.includes(id));
  if (format === "json")
    await context.out.json({
      deleted: deleted.map(toDeletionJson),
      unfinished: report.unfinished,
      bytesFreed: report.bytesFreed,
      blobsLeft: report.blobsLeft ?? null,
    });
  else await context.out.write(reportText(deleted, report));
  const [refused] = report.refused;
  const [unfinished] = report.unfinished;
  if (refused !== undefined) return sessionFailure(refused.outcome, refused.session);
  return unfinished === undefined ? exitCode.fine : unfinishedFailure(unfinished);
}

interface DeleteInput {
  readonly described: readonly DescribedSession[];
  readonly memories: MemoryChoice;
  readonly format: "text" | "json";
}

interface StoresReport extends Pick<DeletionReport, "deleted" | "refused" | "unfinished"> {
  readonly bytesFreed: number;
  /** Why offloaded results were left for garbage collection. */
  readonly blobsLeft: string | undefined;
}

async function deleteByStore(sessions: readonly OwnSession[], memories: MemoryChoice): Promise<StoresReport> {
  const reports: DeletionReport[] = [];
  for (const [store, own] of Map.groupBy(sessions, ({ store: each }) => each))
    reports.push(
      await deleteSessions(store, {
        sessions: own.map(({ id }) => id),
        removers: store.removers,
        chosenRemovers: chosenRemovers(store, memories),
      }),
    );
  return {
    deleted: reports.flatMap(({ deleted }) => deleted),
    refused: reports.flatMap(({ refused }) => refused),
    unfinished: reports.flatMap(({ unfinished }) => unfinished),
    bytesFreed: reports.reduce((total, { bytesFreed }) => total + bytesFreed, 0),
    blobsLeft: reports.flatMap(({ blobs }) => (blobs.kind === "left" ? [blobs.why] : []))[0],
  };
}

interface DeletedJson {
  readonly session: SessionId;
  readonly title: string;
  readonly modified: string | undefined;
  readonly messages: number | undefined;
  readonly bytes: Bytes;
  readonly derived: readonly string[];
}

const toDeletionJson = ({ id, summary, bytes, derived }: DescribedSession): DeletedJson => ({
  session: id,
  title: titleText(summary),
  modified: summary?.modified,
  messages: summary?.messageCount,
  bytes,
  derived,
});

function reportText(deleted: readonly DescribedSession[], { bytesFreed, blobsLeft }: StoresReport): string {
  const derived = deleted.flatMap((session) => session.derived);
  const also = derived.length === 0 ? "" : `, with ${derived.join(", ")}`;
  const total = `deleted ${quantity(deleted.length, "session")}, ${formatBytes(bytesFreed)}${also}\n`;
  if (blobsLeft === undefined) return total;
  return `${total}Offloaded results stay for now (${blobsLeft}): \`palimpsest sessions gc\` removes them later.\n`;
}

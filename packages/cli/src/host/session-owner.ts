import type { ByteSource, TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { IndexRow } from "palimpsest/internal/store/files/list-sessions";
import { isObject, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import type { Workspace } from "./workspace.ts";
import { ownerTailBytes, ownerTailBytesMax } from "./limits.ts";

/**
 * Who sends a session's requests. A client of the gateway and a program that uses the library have a system prompt and
 * tools of their own: to open their session as an agent would add the agent's to it, and settle calls whose results are
 * still to come.
 */
export type SessionOwner = "agent" | "gateway" | "program";

interface SessionLog {
  readonly id: string;
  readonly source: Pick<ByteSource, "size" | "read">;
}

export async function findSessionOwner({
  env,
  ...log
}: SessionLog & { readonly env: Readonly<Record<string, string | undefined>> }): Promise<SessionOwner> {
  if (await isAgentsOwn(log)) return "agent";
  // Loaded only if it is needed: most sessions are the agent's own.
  const { gatewayWindow } = await import("./gateway/gateway-window.ts");
  return (await gatewayWindow({ env }, log.id)) === undefined ? "program" : "gateway";
}

/** `agent` if it can't be read: opening it says why. */
export async function readSessionOwner(
  { transcripts }: TranscriptsDep,
  { id, env }: { readonly id: SessionId; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<SessionOwner> {
  const source = await transcripts.openForReading(id).catch(() => undefined);
  if (source === undefined) return "agent";
  try {
    return await findSessionOwner({ id, source, env });
  } finally {
    await source.close();
  }
}

/** Keeps the sessions that Palimpsest's own agent can go on with. */
export async function* keepAgentSessions(
  { openFile }: Pick<Workspace, "openFile">,
  rows: readonly IndexRow[],
): AsyncGenerator<IndexRow> {
  for (const row of rows) {
    const source = await openFile(row.fullPath);
    if (source === undefined) continue;
    try {
      if (await isAgentsOwn({ id: row.sessionId, source })) yield row;
    } finally {
      await source.close();
    }
  }
}

/** Newest first: those of the project. */
export async function listAgentSessions(workspace: Pick<Workspace, "list" | "openFile">): Promise<readonly IndexRow[]> {
  const sessions: IndexRow[] = [];
  for await (const row of keepAgentSessions(workspace, await workspace.list("project"))) sessions.push(row);
  return sessions;
}

async function isAgentsOwn({ id, source }: SessionLog): Promise<boolean> {
  const newest = await readNewestMessage(source);
  // A fork begins with the entries of the session that it was made from.
  return newest?.["version"] !== libraryVersion || newest["sessionId"] !== id;
}

/** What `openContext` records as the version with each of its messages. */
const libraryVersion = "library";

/** Edits are left out: `palimpsest undo` and `pin` write them to any session. */
async function readNewestMessage(source: SessionLog["source"]): Promise<JsonObject | undefined> {
  for (let length = ownerTailBytes; length <= ownerTailBytesMax; length *= 8) {
    const start = Math.max(0, source.size - length);
    const lines = new TextDecoder().decode(await source.read({ start, end: source.size })).split("\n");
    // The first line is cut, unless all was read.
    const whole = start === 0 ? lines : lines.slice(1);
    const newest = whole.findLast((line) => parseMessage(line) !== undefined);
    if (newest !== undefined) return parseMessage(newest);
    if (start === 0) break;
  }
  return undefined;
}

function parseMessage(line: string): JsonObject | undefined {
  if (!line.includes('"message"')) return undefined;
  const entry = tryParseJson(line);
  const isMessage = isObject(entry) && (entry["type"] === "user" || entry["type"] === "assistant");
  return isMessage ? entry : undefined;
}

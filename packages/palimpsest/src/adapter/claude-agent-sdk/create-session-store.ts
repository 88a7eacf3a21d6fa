import { createHash } from "node:crypto";
import { ContextError } from "../../context/context-error.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { StorePorts } from "../../ports/store.ts";
import type { Transcripts } from "../../ports/transcripts.ts";
import { sessionId } from "../../schema/brand.ts";
import { withSource } from "../../session/counted-log.ts";
import { deleteSessions } from "../../session/delete-sessions.ts";
import { agentNameCharsMax, knownLogsMax } from "./limits.ts";
import { readOwner, readSdkEntries, SdkLog, type SdkLogPlace } from "./sdk-log.ts";
import type { SdkSessionKey, SdkSessionStore } from "./sdk-types.ts";

export interface SessionStoreDeps extends ClockDep {
  /** Rejects if the store can't be opened. */
  readonly ports: () => Promise<StorePorts>;
}

export interface CreatedSessionStore extends SdkSessionStore {
  /** Resolves when everything that was appended so far is stored or has failed. */
  readonly settled: () => Promise<void>;
}

/**
 * A `SessionStore` of the SDK over a store of ours. Lines are kept as they come, because both have the same format:
 *
 *   { sessionId }                               a session of the project
 *   { sessionId, subpath: "subagents/agent-x" } the agent `agent-x` of that session
 *
 * The first line of each transcript is ours and names project and subpath. A method rejects if the store fails; the SDK
 * then tries again, and reports what it had to drop.
 */
export function createSessionStore({ now, ports }: SessionStoreDeps): CreatedSessionStore {
  const logs = new Map<string, SdkLog>();
  const openLog = (place: SdkLogPlace): SdkLog => {
    const { sessionId: id, projectKey, subpath } = place.key;
    const name = JSON.stringify([id, projectKey, subpath]);
    const log = logs.get(name) ?? new SdkLog({ now }, place);
    logs.delete(name);
    logs.set(name, log);
    const [oldest] = logs.keys();
    if (logs.size > knownLogsMax && oldest !== undefined) logs.delete(oldest);
    return log;
  };
  /** Which project a session belongs to never changes. */
  const projectBySession = new Map<string, string>();
  const belongsTo = async (
    transcripts: Transcripts,
    { projectKey, sessionId: id }: SdkSessionKey,
  ): Promise<boolean> => {
    const known = projectBySession.get(id) ?? (await readProject(transcripts, id));
    if (known !== undefined) projectBySession.set(id, known);
    return known === projectKey;
  };

  return {
    append: async (key, entries) => {
      await openLog(placeOf(await ports(), key)).append(entries);
    },
    load: async (key) => (await readSdkEntries(placeOf(await ports(), key))) ?? null,
    listSessions: async (projectKey) => {
      const { sessions, transcripts } = await ports();
      if (sessions === undefined) throw new ContextError("store", "This store keeps no list of its sessions.");
      const listed: { sessionId: string; mtime: number }[] = [];
      for (const { sessionId: id, modified } of await sessions.list())
        if (await belongsTo(transcripts, { projectKey, sessionId: id }))
          listed.push({ sessionId: id, mtime: Date.parse(modified) });
      return listed;
    },
    listSubkeys: async ({ projectKey, sessionId: id }) => {
      const store = (await ports()).agentsOf?.(sessionId(id));
      if (store === undefined) return [];
      const owners = await Promise.all(
        (await store.list()).map((agent) => withSource(store, sessionId(agent), readOwner)),
      );
      return owners.flatMap((owner) =>
        typeof owner === "object" && owner.projectKey === projectKey ? (owner.subpath ?? []) : [],
      );
    },
    delete: async (key) => {
      if (key.subpath !== undefined)
        throw new ContextError("store", "A sub-agent's transcript is deleted with its session.");
      const { deletion, garbage, transcripts } = await ports();
      if (deletion === undefined) throw new ContextError("store", "This store can't delete sessions.");
      if (!(await belongsTo(transcripts, key))) return;
      const { deleted, refused } = await deleteSessions({ deletion, garbage, now }, { sessions: [placeId(key)] });
      const [refusal] = refused;
      if (refusal !== undefined && refusal.outcome.kind !== "missing" && !deleted.includes(refusal.session))
        throw new ContextError("busy", `The session ${key.sessionId} can't be deleted: ${refusal.outcome.kind}.`);
      projectBySession.delete(key.sessionId);
      for (const name of logs.keys()) if (name.startsWith(`[${JSON.stringify(key.sessionId)},`)) logs.delete(name);
    },
    settled: async () => {
      await Promise.all([...logs.values()].map((log) => log.settled()));
    },
  };
}

const placeId = ({ sessionId: id }: SdkSessionKey) => sessionId(id);

async function readProject(transcripts: Transcripts, id: string): Promise<string | undefined> {
  const owner = await withSource({ transcripts }, sessionId(id), readOwner);
  return typeof owner === "object" ? owner.projectKey : undefined;
}

function placeOf({ transcripts, agentsOf }: StorePorts, key: SdkSessionKey): SdkLogPlace {
  const { sessionId: id, subpath } = key;
  if (subpath === undefined) return { transcripts, id: sessionId(id), key };
  if (agentsOf === undefined) throw new ContextError("no-agents", "This store keeps no transcripts of agents.");
  return { transcripts: agentsOf(sessionId(id)).transcripts, id: sessionId(nameAgent(subpath)), key };
}

/** The name of a sub-agent's transcript: Claude Code's own, or one that no other subpath has. */
function nameAgent(subpath: string): string {
  const [, plain] = /^subagents\/(agent-[A-Za-z0-9_-]{1,150})$/.exec(subpath) ?? [];
  if (plain !== undefined) return plain;
  const readable = subpath.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(-agentNameCharsMax);
  return `agent-${readable}.${createHash("sha256").update(subpath).digest("hex").slice(0, 16)}`;
}

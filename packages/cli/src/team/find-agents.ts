import { open, readdir, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type AgentRecord, readRecordsEdit } from "palimpsest/internal/loop/agent-records";
import { teammateAddress, sessionAddress } from "palimpsest/internal/schema/agent-address";
import { readEntry } from "palimpsest/internal/schema/entry";
import { isObject, tryParseJson } from "palimpsest/internal/schema/json";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { findSession } from "palimpsest/internal/store/files/list-sessions";
import { findOpenSessions, type OpenSession } from "../host/open-sessions.ts";
import { followChunkBytes } from "./limits.ts";
import { findRunning, TeamStore } from "./team-store.ts";

/** An agent of this home that a user can look at, write to or end. */
export interface ListedAgent {
  readonly kind: "leader" | "teammate" | "session" | "sub-agent";
  /** What messages are sent to. */
  readonly address: string;
  /**
   * Of a member: `starting` to `died`, which means that its process is gone without having left. Of a session: `open`. Of a
   * sub-agent: `running`, `ended`, or `lost` with an earlier process of its session.
   */
  readonly state: "starting" | "working" | "idle" | "stopped" | "died" | "open" | "running" | "ended" | "lost";
  /** Undefined if none runs on this machine. */
  readonly pid: number | undefined;
  /** Of a sub-agent: the session that has started it. */
  readonly session: string | undefined;
  /** Undefined if there is none yet. */
  readonly transcript: string | undefined;
  readonly project: string | undefined;
  /** Of a sub-agent: its name in the session, its type and its task in a few words. Undefined if they are not on record. */
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly description?: string | undefined;
}

/** Members of teams first, then open sessions, each with the agents it has started. Changes nothing. */
export async function findAgents(home: string, subAgents = new SubAgentFinder()): Promise<readonly ListedAgent[]> {
  const sessions = await findOpenSessions(home);
  const members = await findMembers(home);
  const ofMembers = new Set(members.map(({ session }) => session));
  const others = sessions.filter(({ id }) => !ofMembers.has(id)).map(toListed);
  const started = await Promise.all(sessions.map((session) => subAgents.find(session)));
  return [...members, ...others, ...started.flat()];
}

async function findMembers(home: string): Promise<readonly ListedAgent[]> {
  const records = await new TeamStore(home).list();
  const listed = records.map(async (record) => {
    const running = await findRunning(record);
    return Promise.all(
      record.members.map(async ({ name, role, state, process, session, project }): Promise<ListedAgent> => {
        const isRunning = running.has(name);
        return {
          kind: role,
          address: teammateAddress(name, record.team),
          state: isRunning || process === undefined ? state : "died",
          pid: isRunning && process?.host === hostname() ? process.pid : undefined,
          session,
          transcript: session === undefined ? undefined : await findTranscript(home, session),
          project,
        };
      }),
    );
  });
  return (await Promise.all(listed)).flat();
}

async function findTranscript(home: string, session: string): Promise<string | undefined> {
  const found = await findSession(home, session);
  return found.kind === "found" ? join(found.project.folder, `${found.id}.jsonl`) : undefined;
}

const toListed = ({ id, path, root, pid, host }: OpenSession): ListedAgent => ({
  kind: "session",
  address: sessionAddress(id),
  state: "open",
  pid: host === hostname() ? pid : undefined,
  session: id,
  transcript: path,
  project: root,
});

export type FindAgentOutcome =
  | { readonly kind: "found"; readonly agent: ListedAgent }
  | { readonly kind: "missing" }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

/** By its address, the name of a member or of a sub-agent, a session's id or the beginning of one. */
export function findAgent(agents: readonly ListedAgent[], name: string): FindAgentOutcome {
  const exact = agents.filter(
    ({ address, session, kind }) => address === name || (kind !== "sub-agent" && session === name),
  );
  const near = agents.filter(
    ({ address, session, kind, name: own }) =>
      address.split("@")[0] === name ||
      own === name ||
      (kind === "session" && session?.startsWith(name.replace(/^bridge:/, ""))),
  );
  const [only, ...others] = exact.length > 0 ? exact : near;
  if (only === undefined) return { kind: "missing" };
  return others.length === 0
    ? { kind: "found", agent: only }
    : { kind: "ambiguous", candidates: [only, ...others].map(({ address }) => address) };
}

/**
 * The agents that open sessions have started, by their transcripts and by the records in the session's own. They run in
 * the session's process. Asked again, it reads what was added to a session's transcript since.
 */
export class SubAgentFinder {
  readonly #readByPath = new Map<string, ReadRecords>();

  async find(session: OpenSession): Promise<readonly ListedAgent[]> {
    const folder = join(session.path.slice(0, -".jsonl".length), "subagents");
    const names = await readdir(folder).catch((error: unknown): string[] => {
      if (errorCode(error) === undefined) throw error;
      return [];
    });
    const ids = names.flatMap((name) => /^(?<id>agent-.+)\.jsonl$/.exec(name)?.groups?.["id"] ?? []).toSorted();
    if (ids.length === 0) return [];
    const read = this.#readByPath.get(session.path) ?? { at: 0, byId: new Map(), current: new Set() };
    this.#readByPath.set(session.path, read);
    await readOn(session.path, read);
    return Promise.all(ids.map((id) => toListedAgent(session, { id, read, transcript: join(folder, `${id}.jsonl`) })));
  }
}

interface ReadRecords {
  /** Bytes that were read. */
  at: number;
  /** Every agent that was ever on record, as it was last. */
  readonly byId: Map<string, AgentRecord>;
  /** Those that have not ended. */
  current: ReadonlySet<string>;
}

/** A record is a line of the transcript; lines of other kinds are not parsed. */
async function readOn(path: string, read: ReadRecords): Promise<void> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  });
  if (file === undefined) return;
  try {
    let held = Buffer.alloc(0);
    const chunk = Buffer.alloc(followChunkBytes);
    for (let at = read.at; ;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      const bytes = Buffer.concat([held, chunk.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(newline) + 1;
      held = bytes.subarray(end);
      // A line that is being written is read the next time.
      read.at = at - held.length;
      for (const line of bytes.subarray(0, end).toString("utf8").split("\n"))
        if (line.includes(recordsMark)) readLine(line, read);
    }
  } finally {
    await file.close();
  }
}

const newline = 0x0a;
const recordsMark = '"agents.running"';

function readLine(line: string, read: ReadRecords): void {
  const json = tryParseJson(line);
  const entry = isObject(json) ? readEntry(json) : undefined;
  if (entry?.kind !== "entry" || entry.entry.kind !== "edit") return;
  const records = readRecordsEdit(entry.entry.edit);
  if (records === undefined) return;
  for (const record of records) read.byId.set(record.id, record);
  read.current = new Set(records.map(({ id }) => id));
}

interface FoundTranscript {
  readonly id: string;
  readonly read: ReadRecords;
  readonly transcript: string;
}

async function toListedAgent(session: OpenSession, { id, read, transcript }: FoundTranscript): Promise<ListedAgent> {
  const record = read.byId.get(id);
  const state = read.current.has(id) ? await judgeRecord(session, { record, transcript }) : "ended";
  return {
    kind: "sub-agent",
    address: `${id}@${session.id}`,
    state,
    pid: state === "running" && session.host === hostname() ? session.pid : undefined,
    session: session.id,
    transcript,
    project: session.root,
    name: record?.name,
    type: record?.type,
    description: record?.description,
  };
}

/** Lost with an earlier process of its session, unless this one has gone on with it, which writes to its transcript. */
async function judgeRecord(
  { since }: OpenSession,
  { record, transcript }: { readonly record: AgentRecord | undefined; readonly transcript: string },
): Promise<"running" | "lost"> {
  const openedAt = Date.parse(since);
  if (record === undefined || record.startedAt >= openedAt) return "running";
  const file = await stat(transcript).catch((error: unknown) => {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  });
  return file !== undefined && file.mtimeMs >= openedAt ? "running" : "lost";
}

import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { teammateAddress, sessionAddress } from "palimpsest/internal/schema/agent-address";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { findSession } from "palimpsest/internal/store/files/list-sessions";
import { findOpenSessions, type OpenSession } from "../host/open-sessions.ts";
import { findRunning, TeamStore } from "./team-store.ts";

/** An agent of this home that a user can look at, write to or end. */
export interface ListedAgent {
  readonly kind: "leader" | "teammate" | "session" | "sub-agent";
  /** What messages are sent to. */
  readonly address: string;
  /** `died`: its process is gone without having left. `kept`: only its transcript is there. */
  readonly state: "starting" | "working" | "idle" | "stopped" | "died" | "open" | "kept";
  /** Undefined if none runs on this machine. */
  readonly pid: number | undefined;
  readonly session: string | undefined;
  /** Undefined if there is none yet. */
  readonly transcript: string | undefined;
  readonly project: string | undefined;
}

/** Members of teams first, then open sessions, each with the agents it has started. Changes nothing. */
export async function findAgents(home: string): Promise<readonly ListedAgent[]> {
  const open = await findOpenSessions(home);
  const members = await findMembers(home);
  const ofMembers = new Set(members.map(({ session }) => session));
  const sessions = open.filter(({ id }) => !ofMembers.has(id)).map(toListed);
  const started = await Promise.all(open.map(findSubAgents));
  return [...members, ...sessions, ...started.flat()];
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

/** The agents that a session has started, by their transcripts. They run in the session's process. */
async function findSubAgents({ id, path, root, pid }: OpenSession): Promise<readonly ListedAgent[]> {
  const folder = join(path.slice(0, -".jsonl".length), "subagents");
  const names = await readdir(folder).catch((error: unknown): string[] => {
    if (errorCode(error) === undefined) throw error;
    return [];
  });
  return names
    .filter((name) => /^agent-.+\.jsonl$/.test(name))
    .toSorted()
    .map((name) => ({
      kind: "sub-agent",
      address: `${name.slice(0, -".jsonl".length)}@${id}`,
      state: "kept",
      pid,
      session: id,
      transcript: join(folder, name),
      project: root,
    }));
}

export type FindAgentOutcome =
  | { readonly kind: "found"; readonly agent: ListedAgent }
  | { readonly kind: "missing" }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

/** By its address, the name of a member, a session's id or the beginning of one. */
export function findAgent(agents: readonly ListedAgent[], name: string): FindAgentOutcome {
  const exact = agents.filter(
    ({ address, session, kind }) => address === name || (kind !== "sub-agent" && session === name),
  );
  const near = agents.filter(
    ({ address, session, kind }) =>
      address.split("@")[0] === name || (kind === "session" && session?.startsWith(name.replace(/^bridge:/, ""))),
  );
  const [only, ...others] = exact.length > 0 ? exact : near;
  if (only === undefined) return { kind: "missing" };
  return others.length === 0
    ? { kind: "found", agent: only }
    : { kind: "ambiguous", candidates: [only, ...others].map(({ address }) => address) };
}

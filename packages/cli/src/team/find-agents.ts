import { hostname } from "node:os";
import { join } from "node:path";
import { teammateAddress, sessionAddress } from "palimpsest/internal/schema/agent-address";
import { findSession } from "palimpsest/internal/store/files/list-sessions";
import { findOpenSessions, type OpenSession } from "../host/open-sessions.ts";
import type { ListedAgent } from "./listed-agent.ts";
import { SubAgentFinder } from "./sub-agent-finder.ts";
import { findRunning, TeamStore } from "./team-store.ts";

/** Members of teams first, then open sessions, each with the agents it has started. Changes nothing. */
export async function findAgents(home: string, subAgents = new SubAgentFinder()): Promise<readonly ListedAgent[]> {
  const open = await findOpenSessions(home);
  const members = await findMembers(home);
  const ofMembers = new Set(members.map(({ session }) => session));
  const sessions = open.filter(({ id }) => !ofMembers.has(id)).map(toListed);
  const started = await Promise.all(open.map((session) => subAgents.find(session)));
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

import type { Blobs } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { NamedSource } from "../../ports/garbage-store.ts";
import type { SessionDeletion } from "../../ports/session-deletion.ts";
import type { AgentStore } from "../../ports/store.ts";
import { agentId, sessionId, type SessionId } from "../../schema/brand.ts";
import { memoryTranscripts } from "./memory-transcripts.ts";

type AgentTranscripts = ReturnType<typeof memoryTranscripts>;

/** The stores of all sessions' agents. Each is found by the session, and then the agents that it is below. */
export class MemoryAgentStores {
  readonly #deps: ClockDep;
  readonly #blobs: Blobs;
  readonly #transcriptsByPath = new Map<string, AgentTranscripts>();

  constructor({ deps, blobs }: { readonly deps: ClockDep; readonly blobs: Blobs }) {
    this.#deps = deps;
    this.#blobs = blobs;
  }

  open(path: readonly SessionId[]): AgentStore {
    const key = toKey(path);
    const transcripts = this.#transcriptsByPath.get(key) ?? memoryTranscripts({ deps: this.#deps });
    this.#transcriptsByPath.set(key, transcripts);
    return {
      transcripts,
      blobs: this.#blobs,
      list: async () => (await transcripts.list()).map(({ sessionId: id }) => agentId(id)).toSorted(),
      agentsOf: (agent) => this.open([...path, agent]),
    };
  }

  async *allPlaces(): AsyncGenerator<NamedSource> {
    for (const transcripts of this.#transcriptsByPath.values()) yield* transcripts.allPlaces();
  }

  /** What is deleted with a session includes its agents. */
  deletedWith(deletion: SessionDeletion): SessionDeletion {
    const below = (session: SessionId): readonly string[] =>
      [...this.#transcriptsByPath.keys()].filter((key) => key.startsWith(toKey([session])));
    const transcriptsBelow = (session: SessionId) =>
      below(session).flatMap((key) => this.#transcriptsByPath.get(key) ?? []);
    return {
      ...deletion,
      places: async function* (session) {
        yield* deletion.places(session);
        for (const transcripts of transcriptsBelow(session)) yield* transcripts.allPlaces();
      },
      purge: async (sessions) => {
        for (const key of sessions.flatMap((session) => below(sessionId(session)))) this.#transcriptsByPath.delete(key);
        return await deletion.purge(sessions);
      },
    };
  }
}

const toKey = (path: readonly SessionId[]): string => path.map((name) => `${name}/`).join("");

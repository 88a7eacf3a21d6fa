import { type SpendEntry, sumSpend } from "../../cache/background-budget.ts";
import type { SpendLog } from "../../ports/spend-log.ts";
import type { Store, StorePorts } from "../../ports/store.ts";
import { memoryDreamLeases } from "./memory-dream-lease.ts";
import { memoryMailboxes } from "./memory-mailboxes.ts";
import { memoryMemories } from "./memory-memories.ts";
import { memoryRecall } from "./memory-recall.ts";
import type { GarbageStore } from "../../ports/garbage-store.ts";
import { type BlobId, bytes, millis, type SessionId } from "../../schema/brand.ts";
import { spendKeptMs } from "../limits.ts";
import { type MemoryBlob, memoryBlobs, memoryByteSource } from "./memory-blobs.ts";
import { MemoryAgentStores } from "./memory-agent-stores.ts";
import { memoryTaskLists } from "./memory-task-lists.ts";
import { memoryLeases, memoryTranscripts } from "./memory-transcripts.ts";

/** Keeps sessions only as long as the store object exists: for tests and temporary sessions. */
export function memoryStore(): Store {
  const deps = { now: () => millis(Date.now()) };
  const leases = memoryLeases(deps);
  const transcripts = memoryTranscripts({ deps, leases });
  const kept = new Map<BlobId, MemoryBlob>();
  const blobs = memoryBlobs({ kept, now: deps.now });
  const agentStores = new MemoryAgentStores({ deps, blobs });
  const garbage = memoryGarbage({ kept, transcripts, agentStores });
  const deletion = agentStores.deletedWith(transcripts.deletion);
  const memories = memoryMemories({ deps });
  const recall = memoryRecall(deps);
  const sessions = { transcripts, sessions: transcripts, leases, deletion };
  const project = { memories, recall, dreams: memoryDreamLeases(deps), spend: memorySpendLog() };
  const agentsOf = (session: SessionId) => agentStores.open([session]);
  const agents = { mailboxes: memoryMailboxes(), taskLists: memoryTaskLists(deps), agentsOf };
  const ports: StorePorts = { ...sessions, ...project, ...agents, blobs, garbage };
  return { open: () => Promise.resolve({ kind: "open", ...ports }) };
}

export function memorySpendLog(): SpendLog {
  const entries: SpendEntry[] = [];
  return {
    add: async (entry) => {
      const firstKept = entries.findIndex(({ at }) => at >= entry.at - spendKeptMs);
      entries.splice(0, firstKept === -1 ? entries.length : firstKept);
      entries.push(entry);
    },
    since: async (start) => sumSpend(entries.filter(({ at }) => at >= start)),
  };
}

/** No link leads to a blob in memory, and no crash leaves half of one. */
const memoryGarbage = ({
  kept,
  transcripts,
  agentStores,
}: {
  readonly kept: Map<BlobId, MemoryBlob>;
  readonly transcripts: ReturnType<typeof memoryTranscripts>;
  readonly agentStores: MemoryAgentStores;
}): GarbageStore => ({
  blobs: async () => [...kept].map(([id, { data, putAt }]) => ({ id, bytes: bytes(data.byteLength), putAt })),
  places: async function* () {
    yield* transcripts.allPlaces();
    yield* agentStores.allPlaces();
  },
  openBlob: async (id) => {
    const blob = kept.get(id);
    return blob === undefined ? undefined : memoryByteSource(blob.data);
  },
  linked: async () => new Set(),
  writers: transcripts.writers,
  remove: async (id, before) => {
    const blob = kept.get(id);
    if (blob === undefined) return "gone";
    if (blob.putAt >= before) return "kept";
    kept.delete(id);
    return "removed";
  },
  temporaries: async () => [],
  removeTemporary: async () => undefined,
});

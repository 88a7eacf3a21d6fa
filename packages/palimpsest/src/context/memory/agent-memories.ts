import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Memories, MemoriesDep, MemoryProvenance } from "../../ports/memories.ts";
import { indexPath, memoryRole } from "../../memory/directory/memory-path.ts";
import { readMemories } from "../../memory/directory/read-memories.ts";
import { judgeChanges } from "../../memory/judge-changes.ts";
import type { SessionSources } from "../../memory/trust-sources.ts";
import type { SessionId } from "../../schema/brand.ts";
import { memoryMessagesMax } from "../limits.ts";

interface AgentMemoriesDeps extends MemoriesDep, ClockDep {
  readonly session: {
    readonly id: SessionId;
    /** Who said what, up to now. */
    readonly sources: () => SessionSources;
  };
}

/**
 * The directory as the session's agent writes it: each change says which session and messages it comes from, and whether
 * its words are the user's. Nothing that a command says about this is believed.
 */
export const agentMemories = (deps: AgentMemoriesDeps): Memories => ({
  ...deps.memories,
  commit: async (changeSet) => {
    // It goes into the system prompt, so that it says only what the directory itself makes of its memories, and the user.
    if (changeSet.changes.some(({ path }) => memoryRole(path) === "index"))
      return { kind: "invalid", path: indexPath, message: `${indexPath} follows the memories: change those instead.` };
    const { messages, ...sources } = deps.session.sources();
    const existing = await readMemories(deps.memories);
    const provenance = {
      session: deps.session.id,
      messages: clipMessages(messages),
      at: deps.now(),
      trust: "trusted",
      derivedFrom: changeSet.provenance.derivedFrom,
    } as const;
    const changes = judgeChanges(changeSet.changes, { existing, sources, provenance });
    return await deps.memories.commit({ ...changeSet, author: "agent", provenance, changes });
  },
});

type MessageIds = NonNullable<MemoryProvenance["messages"]>;

/** The user's message and what followed last. */
export const clipMessages = (ids: MessageIds): MessageIds =>
  ids.length <= memoryMessagesMax ? ids : [...ids.slice(0, 1), ...ids.slice(1 - memoryMessagesMax)];

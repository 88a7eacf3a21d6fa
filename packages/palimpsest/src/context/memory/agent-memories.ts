import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Memories, MemoriesDep, MemoryChange, MemoryProvenance, MemoryText } from "../../ports/memories.ts";
import { indexPath, memoryRole } from "../../memory/directory/memory-path.ts";
import { judgeTrust, type TrustSources } from "../../memory/judge-trust.ts";
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
    const { messages, ...said } = deps.session.sources();
    const existing = await readMemories(deps.memories);
    const sources = withMemories(said, existing);
    const provenance = {
      session: deps.session.id,
      messages: clipMessages(messages),
      at: deps.now(),
      trust: "trusted",
    } as const;
    return await deps.memories.commit({
      ...changeSet,
      author: "agent",
      provenance,
      changes: changeSet.changes.map((change) => {
        const derivedFrom = change.provenance?.derivedFrom ?? changeSet.provenance.derivedFrom;
        return withProvenance(change, { existing, sources, provenance: { ...provenance, derivedFrom } });
      }),
    });
  },
});

/** With their texts. */
export async function readMemories(memories: Memories): Promise<readonly MemoryText[]> {
  const listed = await memories.list();
  const read = await Promise.all(listed.map(({ path }) => memories.read(path)));
  return read.flatMap((memory) => memory ?? []);
}

/** Memories count as what they are: the agent may rename or merge the user's without making them a stranger's. */
function withMemories({ own, outside, arrived }: TrustSources, existing: readonly MemoryText[]): TrustSources {
  const textsWith = (trust: MemoryText["trust"]): readonly string[] =>
    existing.filter((memory) => memory.role !== "index" && memory.trust === trust).map(({ text }) => text);
  const untrusted = textsWith("untrusted");
  return {
    own: [...own, ...textsWith("trusted")],
    outside: [...untrusted, ...outside],
    arrived: arrived === "never" && untrusted.length > 0 ? "earlier" : arrived,
  };
}

interface ChangeContext {
  readonly existing: readonly MemoryText[];
  readonly sources: TrustSources;
  readonly provenance: MemoryProvenance;
}

function withProvenance(change: MemoryChange, { existing, sources, provenance }: ChangeContext): MemoryChange {
  const { path, text } = change;
  if (text === undefined) return { ...change, provenance };
  const before = existing.find((memory) => memory.path === path);
  const known = new Set(before?.text.split("\n"));
  const added = text.split("\n").filter((line) => !known.has(line));
  // A new file's name is shown with it.
  const named = before === undefined ? [path.replace(/\.[^./]*$/, "").replaceAll(/[-_/]+/g, " ")] : [];
  const trust = judgeTrust([...named, ...added].join("\n"), sources);
  return { ...change, provenance: { ...provenance, trust } };
}

type MessageIds = NonNullable<MemoryProvenance["messages"]>;

/** The user's message and what followed last. */
const clipMessages = (ids: MessageIds): MessageIds =>
  ids.length <= memoryMessagesMax ? ids : [...ids.slice(0, 1), ...ids.slice(1 - memoryMessagesMax)];

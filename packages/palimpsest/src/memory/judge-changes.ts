import type { MemoryChange, MemoryProvenance, MemoryText } from "../ports/memories.ts";
import { judgeTrust, type TrustSources } from "./judge-trust.ts";

interface JudgeInput {
  /** The directory before the changes. */
  readonly existing: readonly MemoryText[];
  /** Who said what, without the memories. */
  readonly sources: TrustSources;
  readonly provenance: MemoryProvenance;
}

/**
 * The changes that a model wants to make, each with where it comes from and whether its words are the user's. What the
 * change says about that itself is not believed, but for the memories that it is derived from.
 */
export function judgeChanges(
  changes: readonly MemoryChange[],
  { existing, sources, provenance }: JudgeInput,
): readonly MemoryChange[] {
  const withMemories = addMemories(sources, existing);
  return changes.map((change) => {
    const from = { ...provenance, derivedFrom: change.provenance?.derivedFrom ?? provenance.derivedFrom };
    if (change.text === undefined) return { ...change, provenance: from };
    const before = existing.find(({ path }) => path === change.path);
    const trust = judgeTrust(addedText(change.text, { path: change.path, before: before?.text }), withMemories);
    return { ...change, provenance: { ...from, trust } };
  });
}

/** What a change adds to a file. The name of a new file counts, since it is shown with it. */
function addedText(text: string, { path, before }: { readonly path: string; readonly before: string | undefined }) {
  const known = new Set(before?.split("\n"));
  const added = text.split("\n").filter((line) => !known.has(line));
  const named = before === undefined ? [path.replace(/\.[^./]*$/, "").replaceAll(/[-_/]+/g, " ")] : [];
  return [...named, ...added].join("\n");
}

/** Memories count as what they are: the agent may rename or merge the user's without making them a stranger's. */
function addMemories({ own, outside, arrived }: TrustSources, existing: readonly MemoryText[]): TrustSources {
  const textsWith = (trust: MemoryText["trust"]): readonly string[] =>
    existing.filter((memory) => memory.role === "memory" && memory.trust === trust).map(({ text }) => text);
  const untrusted = textsWith("untrusted");
  return {
    own: [...own, ...textsWith("trusted")],
    outside: [...untrusted, ...outside],
    arrived: arrived === "never" && untrusted.length > 0 ? "earlier" : arrived,
  };
}

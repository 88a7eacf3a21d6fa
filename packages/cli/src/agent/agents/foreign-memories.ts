import type { Memories, Memory } from "palimpsest/internal/ports/memories";

/** The same directory, of which nothing counts as the user's words: it came with a project that they do not trust. */
export const withoutTrust = (memories: Memories): Memories => ({
  ...memories,
  list: async () => (await memories.list()).map(distrust),
  read: async (path) => {
    const memory = await memories.read(path);
    return memory && distrust(memory);
  },
});

/** Who wrote it is only claimed, so it is not said to be by the user. */
const distrust = <One extends Memory>(memory: One): One => ({ ...memory, trust: "untrusted", author: "agent" });

interface ReadOnlyFiles {
  /** The folder under which they are shown. */
  readonly prefix: string;
  /** Whose they are: `Claude Code`. */
  readonly program: string;
  readonly memories: Memories;
}

/** A directory in which the files of another one are shown, and can't be changed. */
export function withReadOnlyFiles(own: Memories, { prefix, program, memories: theirs }: ReadOnlyFiles): Memories {
  const shown = `${prefix}/`;
  // Below a folder their index is a file like others: ours does not follow it.
  const show = <One extends Memory>(memory: One): One => ({
    ...memory,
    path: shown + memory.path,
    role: "memory",
    provenance: { ...memory.provenance, importedFrom: program },
  });
  return {
    ...own,
    list: async () => {
      const [mine, other] = await Promise.all([own.list(), theirs.list()]);
      return [...mine.filter(({ path }) => !path.startsWith(shown)), ...other.map(show)];
    },
    read: async (path) => {
      if (!path.startsWith(shown)) return await own.read(path);
      const memory = await theirs.read(path.slice(shown.length));
      return memory && show(memory);
    },
    commit: async (changeSet) => {
      const change = changeSet.changes.find(({ path }) => path === prefix || path.startsWith(shown));
      if (change === undefined) return await own.commit(changeSet);
      const message = `${change.path} belongs to ${program} and can only be viewed: save what you need in a file of your own.`;
      return { kind: "invalid", path: change.path, message };
    },
  };
}

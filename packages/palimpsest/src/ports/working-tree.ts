/** The files that a conversation is about, as far as memories name parts of them. Changes nothing. */
export interface WorkingTree {
  /** Whether there is a file or folder at this path, relative to the root. Must not reject. */
  hasPath(path: string): Promise<Presence>;
  /** Whether some file of the tree has this name, or a path that ends like this. Must not reject. */
  hasFileEnding(path: string): Promise<Presence>;
  /** Which of these words some file has as whole words; undefined if it can't be told. Absent: symbols are not checked. Must not reject. */
  findWords?(words: readonly string[]): Promise<ReadonlySet<string> | undefined>;
  /** Whether the command's script, target or program exists. Must not reject. */
  hasCommand(command: readonly string[]): Promise<Presence>;
}

/** `unknown`: it can't be told, or would take too long. Only what is certainly missing is worth a word. */
export type Presence = "there" | "missing" | "unknown";

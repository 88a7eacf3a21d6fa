import type { Memories, MemoryText } from "../../ports/memories.ts";

/** Every file of a directory with its text. */
export async function readMemories(memories: Memories): Promise<readonly MemoryText[]> {
  const listed = await memories.list();
  const read = await Promise.all(listed.map(({ path }) => memories.read(path)));
  return read.flatMap((memory) => memory ?? []);
}

import type { Memory } from "../../ports/memories.ts";
import type { Millis } from "../../schema/brand.ts";
import { oneLine } from "../../text/to-printable.ts";
import { formatAge, memoryTime } from "./show-memory.ts";

/** One line for each memory, newest first, for a fork that has to know what there is. A stranger's words are left out. */
export function describeForModel(
  memories: readonly Memory[],
  { now, memoriesMax }: { readonly now: Millis; readonly memoriesMax: number },
): readonly string[] {
  const listed = memories
    .filter(({ role }) => role === "memory")
    .toSorted((one, other) => other.modifiedMs - one.modifiedMs);
  const lines = listed.slice(0, memoriesMax).map((memory) => {
    const facts = [memory.type, formatAge(memoryTime(memory), now)].filter((fact) => fact !== undefined).join(", ");
    if (memory.trust === "untrusted") return `- ${memory.path} (${facts}): came from outside; leave it as it is`;
    return `- ${memory.path} (${facts}): ${oneLine(memory.name)} — ${oneLine(memory.description)}`;
  });
  const left = listed.length - lines.length;
  return left > 0 ? [...lines, `- and ${left} older ones`] : lines;
}

import type { Memory, Memories } from "palimpsest/internal/ports/memories";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import { exitCode, failure, type Failure } from "../program/failure.ts";

type FindOutcome = { readonly kind: "found"; readonly memory: Memory } | Failure;

/** By path, by path without `.md`, by name, or by the beginning of one of them if only one memory has it. */
export async function findMemory(memories: Memories, wanted: string): Promise<FindOutcome> {
  const all = await memories.list();
  const typed = fold(wanted);
  const exact = all.filter((memory) => memoryNames(memory).includes(typed));
  const found =
    exact.length > 0 ? exact : all.filter((memory) => memoryNames(memory).some((name) => name.startsWith(typed)));
  const [first, second] = found;
  if (first !== undefined && second === undefined) return { kind: "found", memory: first };
  if (first !== undefined) {
    const candidates = found.slice(0, candidatesNamedMax).map(({ path }) => path);
    return failure({
      code: exitCode.usage,
      message: `several memories are called ${wanted}`,
      hint: `Write one of these: ${candidates.join(", ")}`,
    });
  }
  const near = nearestName(typed, all.flatMap(memoryNames));
  return failure({
    code: exitCode.notFound,
    message: `no memory is called ${wanted}`,
    hint: near === undefined ? "`palimpsest memory list` shows what there is." : `Did you mean ${near}?`,
  });
}

const candidatesNamedMax = 6;

const memoryNames = ({ path, name }: Memory): readonly string[] => [fold(path), fold(shortPath(path)), fold(name)];

/** What a user types for a memory: its path without `.md`. */
export const shortPath = (path: string): string => path.replace(/\.md$/, "");

const fold = (text: string): string => text.normalize("NFC").trim().toLowerCase();

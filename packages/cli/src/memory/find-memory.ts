import type { Memory, Memories } from "palimpsest/internal/ports/memories";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import { exitCode, failure, type Failure } from "../program/failure.ts";

type FindOutcome = { readonly kind: "found"; readonly memory: Memory } | Failure;

/** By path, by path without `.md`, by name, or by the beginning of one of them if only one memory has it. To look only. */
export async function findMemory(memories: Memories, wanted: string): Promise<FindOutcome> {
  const whole = await findWholeName(memories, wanted);
  if (whole.kind === "found" || whole.code !== exitCode.notFound) return whole;
  const begin = await findBeginning(memories, wanted);
  return begin.length === 0 ? whole : pickOnly(begin, wanted);
}

/** By path, by path without `.md`, or by name: for a change, which must not hit a memory that only begins like it. */
export async function findWholeName(memories: Memories, wanted: string): Promise<FindOutcome> {
  const all = await memories.list();
  const typed = fold(wanted);
  const found = all.filter((memory) => memoryNames(memory).includes(typed));
  if (found.length > 0) return pickOnly(found, wanted);
  const [first] = await findBeginning(memories, wanted);
  const near = first?.path ?? nearestName(typed, all.flatMap(memoryNames));
  return failure({
    code: exitCode.notFound,
    message: `no memory is called ${wanted}`,
    hint: near === undefined ? "`palimpsest memory list` shows what there is." : `Did you mean ${near}?`,
  });
}

async function findBeginning(memories: Memories, wanted: string): Promise<readonly Memory[]> {
  const typed = fold(wanted);
  return (await memories.list()).filter((memory) => memoryNames(memory).some((name) => name.startsWith(typed)));
}

function pickOnly(found: readonly Memory[], wanted: string): FindOutcome {
  const [first, second] = found;
  if (first !== undefined && second === undefined) return { kind: "found", memory: first };
  const candidates = found.slice(0, candidatesNamedMax).map(({ path }) => path);
  return failure({
    code: exitCode.usage,
    message: `several memories are called ${wanted}`,
    hint: `Write one of these: ${candidates.join(", ")}`,
  });
}

const candidatesNamedMax = 6;

const memoryNames = ({ path, name }: Memory): readonly string[] => [fold(path), fold(shortPath(path)), fold(name)];

/** What a user types for a memory: its path without `.md`. */
export const shortPath = (path: string): string => path.replace(/\.md$/, "");

const fold = (text: string): string => text.normalize("NFC").trim().toLowerCase();

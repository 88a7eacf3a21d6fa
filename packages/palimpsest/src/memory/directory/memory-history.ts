import type { MemoryChange, MemoryRevision, MemoryText, MemoryType } from "../../ports/memories.ts";
import { diffLines } from "../../text/diff-texts.ts";
import { formatMemory, parseMemory } from "./memory-text.ts";

/** A memory that somebody wants to save. */
export interface MemoryDraft {
  readonly name: string;
  readonly description: string;
  readonly type: MemoryType;
  readonly body: string;
}

type SavePlan =
  /** `update`: it supersedes the memory of the same name, whose text stays in the history. */
  | { readonly kind: "new" | "update"; readonly change: MemoryChange }
  /** A memory says this already: nothing is written. */
  | { readonly kind: "duplicate"; readonly path: string };

/** Where a draft goes: the same text is a duplicate, the same name an update, everything else a new file. */
export function planSave(draft: MemoryDraft, existing: readonly MemoryText[]): SavePlan {
  const memories = existing.filter(({ role }) => role === "memory");
  const body = foldBody(draft.body);
  // Without a body there is nothing by which two memories could be one.
  const same = body === "" ? undefined : memories.find((memory) => foldBody(bodyIn(memory)) === body);
  const key = foldCase(draft.name);
  const named = memories.find(
    (memory) =>
      foldCase(memory.name) === key && (!key.endsWith("…") || firstLine(bodyIn(memory)) === firstLine(draft.body)),
  );
  if (same !== undefined && (named === undefined || named === same)) return { kind: "duplicate", path: same.path };
  if (named === undefined) {
    const path = freePath(draft, new Set(existing.map((memory) => memory.path.toLowerCase())));
    return { kind: "new", change: { path, expected: "absent", text: formatMemory(draft) } };
  }
  const { otherLines } = parseMemory(named.text, named.path);
  const text = formatMemory({ ...draft, otherLines });
  return { kind: "update", change: { path: named.path, expected: named.hash, text } };
}

const bodyIn = ({ text, path }: MemoryText): string => parseMemory(text, path).body;

/** Case and white space do not make another fact; a sign may: `C++` and `C#`, `1.5` and `-1.5`. */
const foldCase = (text: string): string => text.normalize("NFC").toLowerCase().replaceAll(/\s+/g, " ").trim();

/** The end of a sentence neither. */
const foldBody = (text: string): string => foldCase(text).replace(/(?<=\p{L})[.!]+$/u, "");

/** Of two names that were cut, what they were cut from tells whether they are one. */
const firstLine = (body: string): string => foldCase(body.trim().split("\n")[0] ?? "");

function freePath({ name, type }: MemoryDraft, taken: ReadonlySet<string>): string {
  const words =
    name
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const slug = words.join("-").slice(0, slugCharsMax).replace(/-$/, "") || type;
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? `${slug}.md` : `${slug}-${number}.md`;
    if (!taken.has(path)) return path;
  }
}

/** Short enough to type. */
const slugCharsMax = 60;

export interface BlamedLine {
  readonly text: string;
  /** The revision that added the line. Undefined if its text is no longer in the history. */
  readonly revision: MemoryRevision | undefined;
}

/** Which revision added each line of the newest version. `versions`: oldest first; a deletion has an empty text. */
export function blameLines(
  versions: readonly { readonly revision: MemoryRevision; readonly text: string | undefined }[],
): readonly BlamedLine[] {
  let lines: readonly BlamedLine[] = [];
  for (const { revision, text } of versions) {
    const author = text === undefined ? undefined : revision;
    const next = text === undefined || text === "" ? [] : text.replace(/\n$/, "").split("\n");
    let old = 0;
    lines = diffLines(
      lines.map((line) => line.text),
      next,
    ).flatMap((step): BlamedLine[] => {
      if (step.kind === "added") return [{ text: step.text, revision: author }];
      const line = lines[old++];
      return step.kind === "removed" || line === undefined ? [] : [line];
    });
  }
  return lines;
}

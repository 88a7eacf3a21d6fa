import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { MemoryChange, MemoryText, MemoryTrust } from "palimpsest/internal/ports/memories";
import { memoryBytesMax, memoryFilesMax } from "palimpsest/internal/memory/directory/limits";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { checkChangeSet, findMemorySecrets } from "palimpsest/internal/memory/directory/plan-commit";
import type { SecretScanner } from "palimpsest/internal/ports/secret-scanner";
import { millis, sessionId } from "palimpsest/internal/schema/brand";

/** A memory in Claude Code's folder of the project. */
export interface ClaudeMemory {
  /** Relative to that folder. */
  readonly path: string;
  readonly text: string;
  readonly modifiedMs: number;
}

/** Where Claude Code keeps its memories of a project. We only read there. */
export function claudeMemoryFolder({
  env,
  root,
}: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly root: string;
}): string {
  const config = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  return join(config, "projects", root.replaceAll(/[^A-Za-z0-9]/g, "-"), "memory");
}

/** Regular Markdown files of a bounded size; its index only points to them and is left out. Empty if there is no such folder. */
export async function readClaudeMemories(folder: string): Promise<readonly ClaudeMemory[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const memories: ClaudeMemory[] = [];
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(".md") || entry.name === "MEMORY.md") continue;
    if (memories.length === memoryFilesMax) break;
    const file = join(entry.parentPath, entry.name);
    const { size, mtimeMs } = await stat(file);
    if (size > memoryBytesMax) continue;
    const path = file.slice(folder.length + 1).replaceAll("\\", "/");
    memories.push({ path, text: await readFile(file, "utf8"), modifiedMs: Math.floor(mtimeMs) });
  }
  return memories.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

export interface ImportPlan {
  readonly changes: readonly MemoryChange[];
  /** Already here with the same text. */
  readonly same: readonly string[];
  /** A memory of that name is here and was not imported: it stays. */
  readonly kept: readonly string[];
}

/** A memory that was imported before is brought up to date unless it was changed here since. */
export function planImport(
  theirs: readonly ClaudeMemory[],
  { ours, trust }: { readonly ours: readonly MemoryText[]; readonly trust: MemoryTrust },
): ImportPlan {
  const ourByPath = new Map(ours.map((memory) => [memory.path, memory]));
  const changes: MemoryChange[] = [];
  const same: string[] = [];
  const kept: string[] = [];
  for (const { path, text, modifiedMs } of theirs) {
    const here = ourByPath.get(path);
    // The same text again raises its trust, if the user vouches for it now.
    const isVouchedFor = here?.trust === "untrusted" && trust === "trusted";
    if (here?.text === text && !isVouchedFor) same.push(path);
    else if (here !== undefined && here.provenance.importedFrom !== importedFrom) kept.push(path);
    else
      changes.push({
        path,
        expected: here?.hash ?? "absent",
        text,
        provenance: { at: millis(modifiedMs), trust, importedFrom, session: theirSession(text) },
      });
  }
  return { changes, same, kept };
}

interface LeftOut {
  readonly path: string;
  /** `line 3 looks like a GitHub token`. */
  readonly why: string;
}

/** Parts changes that a memory directory refuses from the others, so that one key does not keep everything out. */
export async function leaveOutRefused(
  scanner: SecretScanner,
  changes: readonly MemoryChange[],
): Promise<{ readonly changes: readonly MemoryChange[]; readonly leftOut: readonly LeftOut[] }> {
  const taken: MemoryChange[] = [];
  const leftOut: LeftOut[] = [];
  for (const change of changes) {
    const one = { author: "user", provenance: unknownSource, message: "", changes: [change] } as const;
    const checked = checkChangeSet(one);
    const [secret] = await findMemorySecrets(scanner, one);
    const place = secret?.line === 0 ? "its name" : `line ${secret?.line}`;
    if (secret !== undefined)
      leftOut.push({ path: maskSecrets(change.path), why: `${place} looks like a secret (${secret.kind})` });
    else if (checked.kind === "invalid") leftOut.push({ path: change.path, why: checked.message });
    else taken.push(change);
  }
  return { changes: taken, leftOut };
}

const unknownSource = { at: millis(0), trust: "untrusted" } as const;

export const importedFrom = "Claude Code";

/** Claude Code writes the session into the front matter. */
function theirSession(text: string): ReturnType<typeof sessionId> | undefined {
  const found = /^originSessionId:\s*["']?([\w-]{8,64})["']?\s*$/m.exec(text)?.[1];
  return found === undefined ? undefined : sessionId(found);
}

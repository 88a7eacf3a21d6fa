import type { Dirent } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { foldersBelowMax, foreignFilesMax } from "../limits.ts";

/** A log of another agent, where it lies. It is only read. */
export interface ForeignFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

/** The agents whose logs are files: the name of the source, and where its logs lie. */
export interface ForeignFolder {
  readonly name: "claude-code" | "codex" | "pi";
  readonly folder: string;
  /** Only folders directly below that may hold logs of the project. */
  readonly mayHold: (folder: string) => boolean;
}

interface UserPlaces {
  /** The user's home. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project's root. */
  readonly root: string;
}

const everything = (): boolean => true;

/** By each agent's convention. Claude Code and pi name a folder after the project's path; Codex sorts by day. */
export function foreignFolders({ home, env, root }: UserPlaces): readonly ForeignFolder[] {
  const claude = env["CLAUDE_CONFIG_DIR"] || join(home, ".claude");
  const codex = env["CODEX_HOME"] || join(home, ".codex");
  const pi = env["PI_CODING_AGENT_DIR"] || join(home, ".pi", "agent");
  const slug = root.replaceAll(/[^A-Za-z0-9]/g, "-");
  const piSlug = `--${root.replace(/^[/\\]/, "").replaceAll(/[/\\:]/g, "-")}`;
  return [
    // A session that was started in a folder of the project has a longer name.
    { name: "claude-code", folder: join(claude, "projects"), mayHold: (folder) => folder.startsWith(slug) },
    { name: "codex", folder: join(codex, "sessions"), mayHold: everything },
    { name: "codex", folder: join(codex, "archived_sessions"), mayHold: everything },
    { name: "pi", folder: join(pi, "sessions"), mayHold: (folder) => folder.startsWith(piSlug) },
  ];
}

/** All `.jsonl` files below. Links are not followed. What can't be read is left out. */
export async function listForeignFiles({ folder, mayHold }: ForeignFolder): Promise<readonly ForeignFile[]> {
  const files: ForeignFile[] = [];
  const visit = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch((): Dirent[] => []);
    for (const entry of entries) {
      if (files.length >= foreignFilesMax) return;
      const inner = join(path, entry.name);
      if (entry.isDirectory() && depth < foldersBelowMax && (depth > 0 || mayHold(entry.name)))
        await visit(inner, depth + 1);
      if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue;
      const stats = await stat(inner).catch(() => undefined);
      if (stats !== undefined) files.push({ path: inner, size: stats.size, mtimeMs: stats.mtimeMs, inode: stats.ino });
    }
  };
  await visit(folder, 0);
  return files;
}

/** The beginning of a file; undefined if it can't be read. */
export async function readHead(path: string, bytesMax: number): Promise<string | undefined> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const buffer = Buffer.allocUnsafe(bytesMax);
    const { bytesRead } = await file.read(buffer, 0, bytesMax, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** The id in a log's name: `rollout-2026-…-<uuid>.jsonl`, `<uuid>.jsonl`, `agent-<id>.jsonl`. */
export const idInName = (path: string): string => {
  const name = basename(path, ".jsonl");
  return /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.exec(name)?.[0] ?? name;
};

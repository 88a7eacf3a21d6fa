import { createHash } from "node:crypto";
import { lstat, mkdir, realpath, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { errorCode } from "../error-code.ts";

/** A session's own, which its commands see as `/tmp`: what one leaves there the next one finds. */
export interface TemporaryFolder {
  /** Makes it if it is not there. Rejects if it can't be made, or is not this user's alone. */
  readonly open: () => Promise<string>;
  /** With everything in it. Must not reject. */
  readonly remove: () => Promise<void>;
}

/**
 * By a name that the next agent of the same session finds too, as commands in the background are handed over to it. In a
 * folder that only this user may enter: names in the system's temporary folder are anybody's to take.
 */
export function temporaryFolder(session: SessionId, above = tmpdir()): TemporaryFolder {
  const owner = process.getuid?.() ?? 0;
  const users = join(above, `palimpsest-${owner}`);
  const path = join(users, createHash("sha256").update(session).digest("hex").slice(0, nameChars));
  return {
    open: async () => {
      const openBoth = async (): Promise<void> => {
        for (const folder of [users, path]) await openOwn(folder, owner);
      };
      // Another session may have removed the folder above in between, as its last one.
      await openBoth().catch((error: unknown) => (errorCode(error) === "ENOENT" ? openBoth() : Promise.reject(error)));
      // The system's temporary folder is behind a link on some systems.
      return await realpath(path);
    },
    remove: async () => {
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
      // Only when it is empty: other sessions have theirs in it.
      await rmdir(users).catch(() => undefined);
    },
  };
}

/** Enough to tell sessions apart, and short: sockets have paths of a hundred characters at most. */
const nameChars = 16;

async function openOwn(folder: string, owner: number): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const found = await lstat(folder);
  const isOwn = found.isDirectory() && found.uid === owner && (found.mode & 0o077) === 0;
  if (!isOwn) throw Object.assign(new Error(`${folder} is not this user's alone`), { code: "EACCES" });
}

/**
 * Variables by which programs find the temporary folder of a command, and keep their caches in it: package managers write
 * theirs at every install, and those of the user can only be read inside.
 */
export const temporaryEnvironment = (folder: string): Readonly<Record<string, string>> => ({
  TMPDIR: folder,
  TMP: folder,
  TEMP: folder,
  npm_config_cache: `${folder}/cache/npm`,
  pnpm_config_store_dir: `${folder}/cache/pnpm`,
  YARN_CACHE_FOLDER: `${folder}/cache/yarn`,
  YARN_GLOBAL_FOLDER: `${folder}/cache/yarn-global`,
  GOCACHE: `${folder}/cache/go-build`,
});

import { createHash } from "node:crypto";
import { lstat, mkdir, realpath, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { errorCode } from "../error-code.ts";

/**
 * A session's temporary folder, which its commands see as `/tmp`: files that one leaves there are available to the
 * next.
 */
export interface TemporaryFolder {
  /** Creates it if it is missing. Rejects if it can't be created, or other users have access. */
  readonly open: () => Promise<string>;
  /** Removes it with its content. Must not reject. */
  readonly remove: () => Promise<void>;
}

/**
 * Has a name that the next agent of the same session finds too, because background commands are handed over to it. It
 * is in a folder that only this user may enter: in the system's temporary folder anyone could take its name.
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
      // Another session may have removed the parent folder in between, as its last user.
      await openBoth().catch((error: unknown) => (errorCode(error) === "ENOENT" ? openBoth() : Promise.reject(error)));
      // The system's temporary folder is behind a link on some systems.
      return await realpath(path);
    },
    remove: async () => {
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
      // Fails unless it is empty: other sessions have theirs in it.
      await rmdir(users).catch(() => undefined);
    },
  };
}

/** Enough to tell sessions apart, but short: socket paths have a limit of about a hundred characters. */
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
 * Variables that tell programs the command's temporary folder and let them keep caches in it: package managers write
 * caches at every install, and the user's own caches are read-only inside.
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

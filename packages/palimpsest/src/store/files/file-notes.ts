import { createHash } from "node:crypto";
import { access, constants, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { NotesFile, NotesFileOutcome } from "../../ports/session-files.ts";
import type { SessionId } from "../../schema/brand.ts";
import { notesBytesMax } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import {
  fileMode,
  makeFolder,
  openNoFollow,
  publish,
  replaceFile,
  temporaryPath,
  writeNewFile,
  errorCode,
  isLink,
  writeFailure,
} from "./disk.ts";

interface FileNotesOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly session: SessionId;
}

/** In the session's folder, next to its offloaded results. */
export const notesPath = ({ folder, session }: FileNotesOptions): string => join(folder, session, "notes.md");
export const planPath = ({ folder, session }: FileNotesOptions): string => join(folder, session, "plan.md");

/** Not synced: after a power cut, the blob that the transcript refers to is what counts. */
export const fileNotes = (options: FileNotesOptions): NotesFile => sessionText(options, notesPath(options));

/** The plan that was last shown to the user. Not synced either. */
export const filePlan = (options: FileNotesOptions): NotesFile => sessionText(options, planPath(options));

function sessionText(options: FileNotesOptions, path: string): NotesFile {
  const guarded = async (act: () => Promise<NotesFileOutcome>): Promise<NotesFileOutcome> => {
    if (!isSessionName(options.session)) return notesFailure("A session of this name has no folder for notes.");
    try {
      return await act();
    } catch (error) {
      if (isLink(error)) return linkFailure(path);
      return notesFailure(writeFailure(error, path).message);
    }
  };
  return {
    path,
    open: (text) =>
      guarded(async () => {
        const real = await realNotesPath(path);
        if (real === undefined) return linkFailure(path);
        return (await readNotes(real)) ?? (await createNotes(real, text));
      }),
    write: (text) =>
      guarded(async () => {
        const real = await realNotesPath(path);
        if (real === undefined) return linkFailure(path);
        const before = await readNotes(real);
        if (before?.kind === "failed") return before;
        await replaceFile({ path: real, data: new TextEncoder().encode(text), sync: "unsynced" });
        return (await readNotes(real)) ?? goneFailure(real);
      }),
  };
}

/**
 * Creates the session's folder if needed and returns the file's real path in it; undefined if that folder is a link.
 * Rejects if the folder is not writable: otherwise notes would be extracted and paid for, and saving them would fail.
 */
async function realNotesPath(path: string): Promise<string | undefined> {
  const folder = dirname(path);
  await makeFolder(folder);
  const [store, real] = await Promise.all([realpath(dirname(folder)), realpath(folder)]);
  if (real !== join(store, basename(folder))) return undefined;
  assertWritable(await stat(real));
  await access(real, constants.W_OK);
  return join(real, basename(path));
}

/** Respects a missing write permission of the owner, even if the file could be replaced or the process runs as root. */
function assertWritable({ mode }: { readonly mode: number }): void {
  if ((mode & 0o200) === 0) throw Object.assign(new Error("closed to its owner's writing"), { code: "EACCES" });
}

/** If two processes create the file at once, the first one wins. */
async function createNotes(path: string, text: string): Promise<NotesFileOutcome> {
  const temporary = temporaryPath(path);
  try {
    await writeNewFile({ path: temporary, data: new TextEncoder().encode(text), sync: "unsynced" });
    await publish(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return (await readNotes(path)) ?? goneFailure(path);
}

/** The folder of `path` must be a real path; the file itself is opened only if it is not a link. */
async function readNotes(path: string): Promise<NotesFileOutcome | undefined> {
  const file = await openNoFollow(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return notesFailure(`${path}: no ordinary file.`);
    if (stats.size > notesBytesMax) return notesFailure(`${path}: ${stats.size} bytes, more than ${notesBytesMax}.`);
    assertWritable(stats);
    // Another program may have written it with permissions for others.
    if ((stats.mode & 0o077) !== 0) await file.chmod(fileMode);
    const bytes = await file.readFile();
    const hash = createHash("sha256").update(bytes).digest("hex");
    const text = new TextDecoder().decode(bytes);
    return { kind: "open", path, text, hash, modifiedMs: stats.mtimeMs };
  } finally {
    await file.close();
  }
}

const linkFailure = (path: string): NotesFileOutcome =>
  notesFailure(`${path}: a link stands in its place, or in that of its folder; it is not followed.`);

const goneFailure = (path: string): NotesFileOutcome =>
  notesFailure(`${path}: it was taken away while it was being made.`);

const notesFailure = (message: string): NotesFileOutcome => ({ kind: "failed", message });

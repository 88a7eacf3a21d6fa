import { createHash } from "node:crypto";
import { access, constants, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { NotesFile, NotesOpened } from "../../ports/notes-file.ts";
import type { SessionId } from "../../schema/brand.ts";
import { notesBytesMax } from "../limits.ts";
import { isSessionName } from "../session-name.ts";
import { fileMode, makeFolder, openItself, publish, replaceFile, temporaryBeside, writeNewFile } from "./disk.ts";
import { codeOf, isLink, writeFailure } from "./failure.ts";

export interface FileNotesOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly session: SessionId;
}

/** Beside what the session's results were offloaded to. */
export const notesPath = ({ folder, session }: FileNotesOptions): string => join(folder, session, "notes.md");
export const planPath = ({ folder, session }: FileNotesOptions): string => join(folder, session, "plan.md");

/** Not synced: what counts after a power cut is the blob that the transcript names. */
export const fileNotes = (options: FileNotesOptions): NotesFile => sessionText(options, notesPath(options));

/** The plan that was last put before a person, in the same way. */
export const filePlan = (options: FileNotesOptions): NotesFile => sessionText(options, planPath(options));

function sessionText(options: FileNotesOptions, path: string): NotesFile {
  const guarded = async (act: () => Promise<NotesOpened>): Promise<NotesOpened> => {
    if (!isSessionName(options.session)) return failed("A session of this name has no folder for notes.");
    try {
      return await act();
    } catch (error) {
      if (isLink(error)) return leadsAway(path);
      return failed(writeFailure(error, path).message);
    }
  };
  return {
    path,
    open: (text) =>
      guarded(async () => {
        const real = await realPlace(path);
        if (real === undefined) return leadsAway(path);
        return (await read(real)) ?? (await made(real, text));
      }),
    write: (text) =>
      guarded(async () => {
        const real = await realPlace(path);
        if (real === undefined) return leadsAway(path);
        const before = await read(real);
        if (before?.kind === "failed") return before;
        await replaceFile({ path: real, data: new TextEncoder().encode(text), sync: "unsynced" });
        return (await read(real)) ?? gone(real);
      }),
  };
}

/**
 * Where the file really is, in a session's folder that is there then; undefined where that folder is a link. Rejects where
 * nothing can be written into it: an extraction would be paid for, and its edits fail.
 */
async function realPlace(path: string): Promise<string | undefined> {
  const folder = dirname(path);
  await makeFolder(folder);
  const [store, real] = await Promise.all([realpath(dirname(folder)), realpath(folder)]);
  if (real !== join(store, basename(folder))) return undefined;
  mustBeOpen(await stat(real));
  await access(real, constants.W_OK);
  return join(real, basename(path));
}

/** What its owner has closed to writing stays as it is, also where another file could take its place, and for root. */
function mustBeOpen({ mode }: { readonly mode: number }): void {
  if ((mode & 0o200) === 0) throw Object.assign(new Error("closed to its owner's writing"), { code: "EACCES" });
}

/** Of two that make it at once, the first one's stays. */
async function made(path: string, text: string): Promise<NotesOpened> {
  const temporary = temporaryBeside(path);
  try {
    await writeNewFile({ path: temporary, data: new TextEncoder().encode(text), sync: "unsynced" });
    await publish(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return (await read(path)) ?? gone(path);
}

/** `path`: real but for its last name, which is opened only where it is no link. */
async function read(path: string): Promise<NotesOpened | undefined> {
  const file = await openItself(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return failed(`${path}: no ordinary file.`);
    if (stats.size > notesBytesMax) return failed(`${path}: ${stats.size} bytes, more than ${notesBytesMax}.`);
    mustBeOpen(stats);
    // Whoever else wrote it may have left it open to others.
    if ((stats.mode & 0o077) !== 0) await file.chmod(fileMode);
    const bytes = await file.readFile();
    const hash = createHash("sha256").update(bytes).digest("hex");
    const text = new TextDecoder().decode(bytes);
    return { kind: "open", path, text, hash, modifiedMs: stats.mtimeMs };
  } finally {
    await file.close();
  }
}

const leadsAway = (path: string): NotesOpened =>
  failed(`${path}: a link stands in its place, or in that of its folder; it is not followed.`);

const gone = (path: string): NotesOpened => failed(`${path}: it was taken away while it was being made.`);

const failed = (message: string): NotesOpened => ({ kind: "failed", message });

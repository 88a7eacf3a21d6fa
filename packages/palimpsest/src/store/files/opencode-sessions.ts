import type { DatabaseSync } from "node:sqlite";
import { copyFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { isObject, type Json, parseJson } from "../../schema/json.ts";
import { copiedDatabaseBytesMax } from "../limits.ts";
import { platformSqlite } from "../recall/database.ts";

/** A session of opencode: in its folder of JSON files, or in its database. */
export interface OpencodeSession {
  readonly id: string;
  readonly title: string | undefined;
  /** The folder in which it was started. */
  readonly directory: string;
  /** Milliseconds since 1970. */
  readonly updated: number;
  /** The document that `opencode export` writes; undefined if it can't be read. */
  readonly exportText: () => Promise<string | undefined>;
}

/** `$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`. */
export const opencodeFolder = (home: string, env: Readonly<Record<string, string | undefined>>): string =>
  join(env["XDG_DATA_HOME"] || join(home, ".local", "share"), "opencode");

/** The sessions of opencode, as they were at one moment until `release`. */
export interface OpencodeSessions {
  /**
   * Sessions that are in both are taken from the database, to which opencode moved. Undefined if the database can't be read
   * at the moment.
   */
  list(): Promise<readonly OpencodeSession[] | undefined>;
  /** Closes the database. The next look sees what is new. */
  release(): void;
}

export function openOpencodeSessions(folder: string): OpencodeSessions {
  const database = new OpencodeDatabase(join(folder, "opencode.db"));
  return {
    list: async () => {
      const inDatabase = await database.list();
      if (inDatabase === undefined) return undefined;
      const stored = await listStored(join(folder, "storage"));
      return [...new Map([...stored, ...inDatabase].map((session) => [session.id, session])).values()];
    },
    release: () => database.release(),
  };
}

const infoShape = z.looseObject({
  id: z.string().min(1),
  title: z.string().optional(),
  directory: z.string(),
  time: z.looseObject({ updated: z.number() }).optional(),
});

/** `session/<project>/<id>.json`, `message/<session>/<id>.json`, `part/<message>/<id>.json`. */
async function listStored(storage: string): Promise<readonly OpencodeSession[]> {
  const sessions: OpencodeSession[] = [];
  for (const project of await namesIn(join(storage, "session"))) {
    for (const name of await namesIn(join(storage, "session", project))) {
      const info = await readJson(join(storage, "session", project, name));
      const parsed = infoShape.safeParse(info).data;
      if (parsed === undefined) continue;
      const messages = join(storage, "message", parsed.id);
      const changed = await stat(messages).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      );
      sessions.push({
        id: parsed.id,
        title: parsed.title,
        directory: parsed.directory,
        updated: Math.max(parsed.time?.updated ?? 0, changed),
        exportText: async () => JSON.stringify({ info, messages: await readStored(storage, messages) }),
      });
    }
  }
  return sessions;
}

async function readStored(storage: string, messages: string): Promise<readonly Json[]> {
  const read: Json[] = [];
  // Ids grow with time.
  for (const name of (await namesIn(messages)).toSorted()) {
    const info = await readJson(join(messages, name));
    if (info === undefined) continue;
    const folder = join(storage, "part", name.replace(/\.json$/, ""));
    const parts: Json[] = [];
    for (const part of (await namesIn(folder)).toSorted()) {
      const value = await readJson(join(folder, part));
      if (value !== undefined) parts.push(value);
    }
    read.push({ info, parts });
  }
  return read;
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch((): string[] => []);

async function readJson(path: string): Promise<Json | undefined> {
  try {
    return parseJson(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

const sessionRow = z.object({
  id: z.string().min(1),
  title: z.string().nullable(),
  directory: z.string(),
  time_updated: z.number(),
});
const dataRow = z.object({ id: z.string(), data: z.string() });
const partRow = dataRow.extend({ message_id: z.string() });

type All = (sql: string, ...values: readonly string[]) => readonly unknown[];

/**
 * Nothing is written beside the database: SQLite would create its companions there even for reading. So the file is read as
 * it is, and if changes wait in its log, a copy of both, once until `release`.
 */
class OpencodeDatabase {
  readonly #path: string;
  #open: Promise<DatabaseSync | undefined> | undefined;
  /** What was listed when the files had this stamp: as long as they have it, they need not be read again. */
  #listed: { readonly stamp: string; readonly sessions: readonly OpencodeSession[] } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** None if there is no database, or one of another shape; undefined if it can't be read now. */
  async list(): Promise<readonly OpencodeSession[] | undefined> {
    if ((await readSize(this.#path)) === 0) return [];
    const stamp = `${await readStamp(this.#path)}, ${await readStamp(`${this.#path}-wal`)}`;
    if (this.#listed !== undefined && (this.#open !== undefined || this.#listed.stamp === stamp))
      return this.#listed.sessions;
    const rows = await this.#read((all) => all("select id, title, directory, time_updated from session"));
    if (rows === undefined) return undefined;
    const sessions = rows.flatMap((row) => {
      const session = sessionRow.safeParse(row).data;
      if (session === undefined) return [];
      const { id, title, directory, time_updated: updated } = session;
      const exportText = () => this.#read((all) => exportSession(all, session));
      return [{ id, title: title ?? undefined, directory, updated, exportText }];
    });
    this.#listed = { stamp, sessions };
    return sessions;
  }

  release(): void {
    const opened = this.#open;
    this.#open = undefined;
    void opened?.then((database) => database?.close());
  }

  async #read<Result>(read: (all: All) => Result): Promise<Result | undefined> {
    const database = await (this.#open ??= openCopy(this.#path));
    try {
      return database === undefined ? undefined : read((sql, ...values) => database.prepare(sql).all(...values));
    } catch {
      return undefined;
    }
  }
}

function exportSession(all: All, { id, title, directory, time_updated: updated }: z.infer<typeof sessionRow>): string {
  const parts = all("select id, message_id, data from part where session_id = ? order by id", id).flatMap(
    (row) => partRow.safeParse(row).data ?? [],
  );
  const partsByMessage = Map.groupBy(parts, ({ message_id }) => message_id);
  const messages = all("select id, data from message where session_id = ? order by id", id)
    .flatMap((row) => dataRow.safeParse(row).data ?? [])
    .map((message) => ({
      info: { ...parseRow(message), sessionID: id },
      parts: (partsByMessage.get(message.id) ?? []).map((part) => parseRow(part)),
    }));
  return JSON.stringify({ info: { id, title, directory, time: { updated } }, messages });
}

/** The columns of a row that are not in its data. */
const parseRow = ({ id, data }: z.infer<typeof dataRow>): object => {
  const value = parseJson(data);
  return { ...(isObject(value) ? value : {}), id };
};

/** Undefined if there is no database that can be read. */
async function openCopy(path: string): Promise<DatabaseSync | undefined> {
  const sqlite = platformSqlite();
  const size = await readSize(path);
  if (sqlite === undefined || size === 0) return undefined;
  const waiting = await readSize(`${path}-wal`);
  const copied = waiting > 0 && size + waiting <= copiedDatabaseBytesMax ? await copyDatabase(path) : undefined;
  try {
    const database = new sqlite.DatabaseSync(copied ?? new URL(`${pathToFileURL(path).href}?mode=ro&immutable=1`));
    // With the first read all files are open.
    database.prepare("select count(*) from sqlite_schema").get();
    return database;
  } catch {
    return undefined;
  } finally {
    // An open file outlives its name, so that nothing is left behind even if the process is killed.
    if (copied !== undefined) await rm(dirname(copied), { recursive: true, force: true }).catch(() => {});
  }
}

const readStats = (path: string) => stat(path).catch(() => undefined);
const readSize = async (path: string): Promise<number> => (await readStats(path))?.size ?? 0;
const readStamp = async (path: string): Promise<string> => {
  const stats = await readStats(path);
  return stats === undefined ? "" : `${stats.size} ${stats.mtimeMs} ${stats.ino}`;
};

async function copyDatabase(path: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  try {
    const copy = join(folder, "copy.db");
    await copyFile(path, copy);
    await copyFile(`${path}-wal`, `${copy}-wal`);
    return copy;
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
}

import { appendFile, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { heldLogBytesMax } from "./limits.ts";

/** A reply that a client may go on from, with what came since the one before it. Elements are the client's own bytes. */
const turn = z.object({
  id: z.string(),
  /** Of the conversation; absent: of the one that it goes on from, or of none. */
  session: z.string().optional(),
  /** The reply that it goes on from. Absent: the list begins here. */
  from: z.string().optional(),
  /** Fields that are not those of the turn before. */
  fields: z.record(z.string(), anyJson).optional(),
  /** A whole body whose elements have not been read; else the elements. */
  added: z.union([z.string(), z.array(z.string())]),
  said: z.array(z.string()),
});

/** The id of a reply that was made of several of the upstream's, and that of the last one. */
const join = z.object({ first: z.string(), last: z.string() });

const line = z.union([turn, join]);

export type StoredTurn = z.infer<typeof turn>;
export type HeldLine = z.infer<typeof line>;

interface UserFile {
  /** Of the file; undefined: not known. */
  bytes: number | undefined;
  /** What was written last may lack its end: a process may have been killed meanwhile. */
  isTorn: boolean;
  writing: Promise<void>;
}

/**
 * Held histories on disk: a file for each user, to which a line is added for each reply before the client has all of it, so
 * that a client can go on after the gateway was killed. Readable for its owner alone. A line that is cut off, or that goes on
 * from one that is not there, does not count: no history is restored in part.
 */
export class HistoryLog {
  readonly #path: (user: string) => string | undefined;
  readonly #bytesMax: number;
  readonly #files = new Map<string, UserFile>();

  /** `path` undefined: nothing of this user is kept on disk. */
  constructor(path: (user: string) => string | undefined, bytesMax = heldLogBytesMax) {
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  /** Resolves when it is written. Never rejects: a line that can't be written costs a later restoration, not the request. */
  append(user: string, entry: HeldLine): Promise<void> {
    const path = this.#path(user);
    if (path === undefined) return Promise.resolve();
    const file = this.#file(user);
    file.writing = file.writing
      .then(() => this.#write(path, { file, text: `${JSON.stringify(entry)}\n` }))
      .catch(() => {
        file.isTorn = true;
        file.bytes = undefined;
      });
    return file.writing;
  }

  /** Leaves nothing of these sessions but what others go on from. Rejects if the file can't be written. */
  async remove(user: string, sessions: readonly string[]): Promise<void> {
    const path = this.#path(user);
    if (path === undefined) return;
    const file = this.#file(user);
    const removing = file.writing.then(() => this.#removeFrom(path, { file, sessions: new Set(sessions) }));
    file.writing = removing.catch(() => void (file.bytes = undefined));
    await removing;
  }

  async #removeFrom(
    path: string,
    { file, sessions }: { readonly file: UserFile; readonly sessions: ReadonlySet<string> },
  ): Promise<void> {
    const lines = await readLines(path);
    const kept = keepOthers(lines, sessions);
    if (kept.length < lines.length) file.bytes = await writeLines(path, kept);
  }

  #file(user: string): UserFile {
    const file = this.#files.get(user) ?? { bytes: undefined, isTorn: true, writing: Promise.resolve() };
    this.#files.set(user, file);
    return file;
  }

  /** What was written of this user, oldest first. */
  async read(user: string): Promise<readonly HeldLine[]> {
    const path = this.#path(user);
    await this.#files.get(user)?.writing;
    return path === undefined ? [] : (await readLines(path)).map(({ entry }) => entry);
  }

  async #write(path: string, { file, text }: { readonly file: UserFile; readonly text: string }): Promise<void> {
    if (file.bytes === undefined) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      file.bytes = await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
    }
    const whole = file.isTorn && file.bytes > 0 ? `\n${text}` : text;
    if (file.bytes + Buffer.byteLength(whole) > this.#bytesMax) file.bytes = await rewrite(path, this.#bytesMax / 2);
    await appendFile(path, whole, { mode: 0o600 });
    file.isTorn = false;
    file.bytes += Buffer.byteLength(whole);
  }
}

interface ReadLine {
  readonly entry: HeldLine;
  readonly text: string;
}

async function readLines(path: string): Promise<readonly ReadLine[]> {
  const content = await readFile(path, "utf8").catch(() => "");
  return content.split("\n").flatMap((text) => {
    const parsed = text === "" ? undefined : line.safeParse(tryParseJson(text));
    return parsed?.success === true ? [{ entry: parsed.data, text }] : [];
  });
}

/** Leaves only the newest histories, each whole. Returns the size of the file. */
const rewrite = async (path: string, bytesMax: number): Promise<number> =>
  writeLines(path, keepNewest(await readLines(path), bytesMax));

async function writeLines(path: string, kept: readonly ReadLine[]): Promise<number> {
  const temporary = `${path}.new`;
  const text = kept.map((one) => `${one.text}\n`).join("");
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
  return Buffer.byteLength(text);
}

function keepOthers(lines: readonly ReadLine[], removed: ReadonlySet<string>): readonly ReadLine[] {
  const turnById = new Map(lines.flatMap(({ entry }) => ("id" in entry ? [[entry.id, entry] as const] : [])));
  const sessionById = new Map<string, string | undefined>();
  for (const [id, { session, from }] of turnById)
    sessionById.set(id, session ?? (from === undefined ? undefined : sessionById.get(from)));
  const isRemoved = (id: string): boolean => removed.has(sessionById.get(id) ?? "");
  const kept = new Set<string>();
  for (const [id] of turnById) {
    if (isRemoved(id)) continue;
    for (let at: string | undefined = id; at !== undefined && !kept.has(at); at = turnById.get(at)?.from) kept.add(at);
  }
  return lines.filter(({ entry }) =>
    "id" in entry ? kept.has(entry.id) : !isRemoved(entry.first) || kept.has(entry.first),
  );
}

function keepNewest(lines: readonly ReadLine[], bytesMax: number): readonly ReadLine[] {
  const byId = new Map(lines.flatMap((one) => ("id" in one.entry ? [[one.entry.id, one] as const] : [])));
  const kept = new Set<ReadLine>();
  let bytes = 0;
  for (const newest of lines.toReversed()) {
    const history: ReadLine[] = [];
    for (let one: ReadLine | undefined = newest; one !== undefined && !kept.has(one) && !history.includes(one);) {
      history.push(one);
      one = "id" in one.entry && one.entry.from !== undefined ? byId.get(one.entry.from) : undefined;
    }
    bytes += history.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
    if (bytes > bytesMax) break;
    for (const one of history) kept.add(one);
  }
  return lines.filter((one) => kept.has(one));
}

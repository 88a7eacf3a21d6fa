import { anyJson } from "palimpsest/internal/schema/any-json";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { JsonLinesFile } from "../json-lines-file.ts";
import { historyLogBytesMax } from "../limits.ts";

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
export type HistoryLine = z.infer<typeof line>;

/** Sessions that were deleted. */
export interface DeletedSessions {
  readonly sessions: readonly string[];
  /** Whose they were. Undefined: the gateway no longer knows, so that they may be anybody's. */
  readonly user: string | undefined;
}

interface HistoryLogOptions {
  readonly bytesMax?: number | undefined;
  /** All who may have a file. */
  readonly listUsers?: () => Promise<readonly string[]>;
  /** Whether lines are added. What was written before can be read and removed all the same. */
  readonly isWritten?: () => boolean;
}

/**
 * Stored histories on disk: a file for each user, to which a line is added for each reply before the client has all of it, so
 * that a client can go on after the gateway was killed. Readable for its owner alone. A line that is cut off, or that goes on
 * from one that is not there, does not count: no history is restored in part.
 */
export class HistoryLog {
  readonly #path: (user: string) => string;
  readonly #bytesMax: number;
  readonly #listUsers: () => Promise<readonly string[]>;
  readonly #isWritten: () => boolean;
  readonly #fileByUser = new Map<string, JsonLinesFile>();

  constructor(path: (user: string) => string, options: HistoryLogOptions = {}) {
    this.#path = path;
    this.#bytesMax = options.bytesMax ?? historyLogBytesMax;
    this.#listUsers = options.listUsers ?? (() => Promise.resolve([]));
    this.#isWritten = options.isWritten ?? (() => true);
  }

  /** Resolves when it is written. Never rejects: a line that can't be written costs a later restoration, not the request. */
  async append(user: string, entry: HistoryLine): Promise<void> {
    if (this.#isWritten()) await this.#file(user).append([entry]);
  }

  /** Leaves nothing of these sessions but what others go on from. Rejects if the file can't be read or written. */
  async remove({ user, sessions }: DeletedSessions): Promise<void> {
    const users = user === undefined ? [...this.#fileByUser.keys(), ...(await this.#listUsers())] : [user];
    for (const one of new Set(users)) await this.#file(one).filter((texts) => withoutSessions(texts, sessions));
  }

  /** What was written of this user, oldest first. Nothing if it can't be read. */
  async read(user: string): Promise<readonly HistoryLine[]> {
    const texts = await this.#file(user)
      .read()
      .catch(() => []);
    return parseLines(texts).map(({ entry }) => entry);
  }

  #file(user: string): JsonLinesFile {
    const bytesMax = this.#bytesMax;
    const shorten = (texts: readonly string[]): readonly string[] =>
      keepNewest(parseLines(texts), bytesMax / 2).map(({ text }) => text);
    const file = this.#fileByUser.get(user) ?? new JsonLinesFile(this.#path(user), { bytesMax, shorten });
    this.#fileByUser.set(user, file);
    return file;
  }
}

interface ReadLine {
  readonly entry: HistoryLine;
  readonly text: string;
}

const parseLines = (texts: readonly string[]): readonly ReadLine[] =>
  texts.flatMap((text) => {
    const parsed = line.safeParse(tryParseJson(text));
    return parsed.success ? [{ entry: parsed.data, text }] : [];
  });

/** Most files have nothing of a session, and reading their lines takes longer than looking for it. */
const withoutSessions = (texts: readonly string[], sessions: readonly string[]): readonly string[] =>
  texts.some((text) => sessions.some((id) => text.includes(id)))
    ? keepOthers(parseLines(texts), new Set(sessions)).map(({ text }) => text)
    : texts;

function keepOthers(lines: readonly ReadLine[], removed: ReadonlySet<string>): readonly ReadLine[] {
  const turnById = new Map(lines.flatMap(({ entry }) => ("id" in entry ? [[entry.id, entry] as const] : [])));
  const sessionById = new Map<string, string | undefined>();
  for (const [id, { session, from }] of turnById)
    sessionById.set(id, session ?? (from === undefined ? undefined : sessionById.get(from)));
  const isRemoved = (id: string): boolean => {
    const session = sessionById.get(id);
    return session !== undefined && removed.has(session);
  };
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

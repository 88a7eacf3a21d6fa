import { FactBook } from "../../layers/4-compact/facts/fact-book.ts";
import type { SessionFacts, UserMessage } from "../../layers/4-compact/facts/session-facts.ts";
import type { Blobs } from "../../ports/blobs.ts";
import type { ByteSource, Transcripts } from "../../ports/transcripts.ts";
import type { BlobId, EntryId } from "../../schema/brand.ts";
import { type Checkpoint, checkpointShape, messageListShape, type StoredFacts } from "../../schema/checkpoint.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Fold } from "../../transcript/fold.ts";
import { Path } from "../../transcript/path.ts";
import { parseCheckpointJson, userTextOnPath } from "../../session/checkpoint.ts";
import { readPlace, scanForward } from "../../session/scan-lines.ts";
import type { Session } from "../../session/session.ts";

export interface SessionFactDeps {
  readonly blobs: Pick<Blobs, "get">;
  readonly transcripts: Pick<Transcripts, "openForReading">;
}

/**
 * The facts of a session's path, across any number of boundaries. A call costs what was appended since the last one. The
 * first call also reads what lies before the fold:
 *   the fold holds the whole path           nothing
 *   it begins at a checkpoint with facts    the chain of checkpoints, and one read per user message; also the log, once,
 *                                           if a message is not at its place
 *   else                                    the log, once
 * Another branch, an undo or a log that is read further back gives the session a new fold: then the book starts again.
 */
export class SessionFactBook {
  readonly #deps: SessionFactDeps;
  readonly #session: Session;
  #current: { readonly fold: Fold; readonly state: Promise<FactBookState> } | undefined;
  /** What lies before a checkpoint never changes. Holds the places of its messages, which are read when they are needed. */
  #known: KnownChain | undefined;
  #unreadable = 0;

  constructor(deps: SessionFactDeps, session: Session) {
    this.#deps = deps;
    this.#session = session;
  }

  /** Number of messages that checkpoints list but the log no longer holds. They are missing in the facts. */
  get unreadable(): number {
    return this.#unreadable;
  }

  async facts(): Promise<SessionFacts> {
    const { fold } = this.#session;
    const state = await this.#stateFor(fold);
    if (this.#session.fold !== fold) return this.facts();
    if (!continues(state, fold)) {
      this.#current = undefined;
      return this.facts();
    }
    for (const { entry } of fold.path.loggedFrom(state.taken)) {
      state.book.append(entry);
      state.last = entry;
    }
    state.taken = fold.path.length;
    return state.book.facts();
  }

  /** Frees the memory until the next call of `facts`. */
  forget(): void {
    this.#current = undefined;
  }

  #stateFor(fold: Fold): Promise<FactBookState> {
    if (this.#current?.fold === fold) return this.#current.state;
    const state = this.#start(fold);
    const current = { fold, state };
    this.#current = current;
    // Callers that are waiting get the failure; a later call tries again.
    state.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return state;
  }

  async #start(fold: Fold): Promise<FactBookState> {
    this.#unreadable = 0;
    const line = fold.path.leaf?.sidechain === true ? "side" : "main";
    const first = fold.path.at(0);
    if (first === undefined || this.#session.read.from === "beginning") return startFactBook(new FactBook({ line }));
    const earlier = await this.#readEarlier(first.entry);
    if (earlier !== undefined) {
      this.#unreadable = earlier.unreadable;
      return startFactBook(new FactBook({ line, earlier: earlier.facts }));
    }
    const book = new FactBook({ line });
    for (const entry of await this.#readBefore(first.start, line)) book.append(entry);
    return startFactBook(book);
  }

  async #readEarlier(first: Entry): Promise<EarlierFacts | undefined> {
    const checkpoint =
      first.kind === "edit" && first.edit.type === "boundary" ? first.edit.metadata.checkpoint : undefined;
    if (checkpoint === undefined) return undefined;
    const chain =
      this.#known?.checkpoint === checkpoint
        ? this.#known.chain
        : await readCheckpointChain(this.#deps, checkpoint, this.#known);
    if (chain === undefined) return undefined;
    this.#known = { checkpoint, chain };
    const { userMessages, unreadable } = await this.#withSource((source) => readMessages(source, chain.messages));
    return { facts: { ...chain.facts, userMessages }, unreadable };
  }

  /** Memory: the entries of the whole log, since all of them are needed to know which are on the path. */
  async #readBefore(start: number, line: "main" | "side"): Promise<readonly Entry[]> {
    return this.#withSource(async (source) => {
      const path = new Path({ line });
      for await (const { logged } of scanForward(source)) for (const entry of logged) path.append(entry);
      return path.logged.flatMap((logged) => (logged.start < start ? [logged.entry] : []));
    });
  }

  async #withSource<Result>(read: (source: ByteSource) => Promise<Result>): Promise<Result> {
    const source = await this.#deps.transcripts.openForReading(this.#session.id);
    if (source === undefined) throw new Error(`the log of the open session ${this.#session.id} is gone`);
    try {
      return await read(source);
    } finally {
      await source.close();
    }
  }
}

interface FactBookState {
  readonly book: FactBook;
  /** Number of entries of the fold's path that are in the book. */
  taken: number;
  last: Entry | undefined;
}

const startFactBook = (book: FactBook): FactBookState => ({ book, taken: 0, last: undefined });

/** Does the path still begin with the entries in the book? */
const continues = ({ taken, last }: FactBookState, { path }: Fold): boolean =>
  taken === 0 || path.at(taken - 1)?.entry === last;

interface EarlierFacts {
  readonly facts: Partial<SessionFacts>;
  readonly unreadable: number;
}

interface CheckpointChain {
  readonly facts: StoredFacts;
  /** Oldest first. */
  readonly messages: Checkpoint["userMessages"];
}

interface KnownChain {
  readonly checkpoint: BlobId;
  readonly chain: CheckpointChain;
}

/**
 * Undefined if a link is gone or was written without facts: such a list does not hold all user messages. Does not read
 * links that are already known.
 */
async function readCheckpointChain(
  { blobs }: SessionFactDeps,
  newest: BlobId,
  known: KnownChain | undefined,
): Promise<CheckpointChain | undefined> {
  const lists: Checkpoint["userMessages"][] = [];
  let facts: StoredFacts | undefined;
  for (let id: BlobId | undefined = newest; id !== undefined;) {
    if (id === known?.checkpoint) {
      lists.push(known.chain.messages);
      break;
    }
    const blob = await blobs.get(id);
    const json = blob === undefined ? undefined : parseCheckpointJson(blob);
    facts ??= checkpointShape.safeParse(json).data?.facts;
    const link = messageListShape.safeParse(json).data;
    if (facts === undefined || link?.facts === undefined) return undefined;
    lists.push(link.userMessages);
    id = link.previous;
  }
  return facts === undefined ? undefined : { facts, messages: lists.toReversed().flat() };
}

interface ReadMessages {
  readonly userMessages: readonly UserMessage[];
  readonly unreadable: number;
}

/** Reads one line per message, by its place. Messages that are not at their place are searched in the whole log. */
async function readMessages(source: ByteSource, places: Checkpoint["userMessages"]): Promise<ReadMessages> {
  const messageByEntry = new Map<EntryId, UserMessage>();
  for (const place of places) {
    const logged = await readPlace(source, place);
    const message = logged === undefined ? undefined : parseUserMessage(logged.entry);
    if (message?.entry === place.entry) messageByEntry.set(place.entry, message);
  }
  const missing = new Set(places.flatMap(({ entry }) => (messageByEntry.has(entry) ? [] : [entry])));
  if (missing.size > 0)
    for await (const { logged } of scanForward(source))
      for (const { entry } of logged) {
        const message = entry.id !== undefined && missing.has(entry.id) ? parseUserMessage(entry) : undefined;
        if (message !== undefined) messageByEntry.set(message.entry, message);
      }
  const userMessages = places.flatMap(({ entry }) => messageByEntry.get(entry) ?? []);
  return { userMessages, unreadable: places.length - userMessages.length };
}

function parseUserMessage(entry: Entry): UserMessage | undefined {
  const text = userTextOnPath(entry);
  if (text === undefined || entry.id === undefined) return undefined;
  return { entry: entry.id, text: text.toWellFormed(), at: entry.timestamp };
}

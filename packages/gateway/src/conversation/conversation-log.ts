import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { ConversationIndex, type ConversationRecord } from "../recognise/conversation-index.ts";
import { conversationsMax } from "../recognise/limits.ts";
import type { ListDigests } from "../recognise/list-digests.ts";
import { JsonLinesFile } from "./json-lines-file.ts";
import { logDelayMs, logLinesSpare } from "./limits.ts";

/** What is known of a conversation besides how it is found. */
export interface ConversationFacts {
  readonly user: string;
  readonly project: string | undefined;
  readonly client: string | undefined;
  /** The window under which its last request was sent. */
  readonly windowTokens?: number | undefined;
}

type NotedRequest = Pick<ConversationRecord, "tail" | "system"> & { readonly digests: ListDigests };

const line = z.object({
  id: z.string(),
  scope: z.string().optional(),
  tools: z.string().optional(),
  user: z.string().optional(),
  project: z.string().optional(),
  client: z.string().optional(),
  windowTokens: z.number().optional(),
  first: z.string().optional(),
  lists: z.array(z.string()).optional(),
  tail: z.array(z.string()).optional(),
  /** It is no longer known. */
  removed: z.literal(true).optional(),
  system: z.string().optional(),
});

type LogLine = z.infer<typeof line>;

/**
 * The known conversations, on disk, so that clients are recognised after the gateway restarts.
 * Digests only, no content. A line adds to what earlier lines say of a conversation; a line that a crash cut off is ignored.
 * Lists behind the first are written a moment later, together: if a crash loses one, the list before it finds the
 * conversation too.
 */
export class ConversationLog {
  readonly index = new ConversationIndex();
  /** The one that was asked last is last: beyond the limit the first is forgotten. */
  readonly #facts = new Map<string, ConversationFacts>();
  readonly #file: JsonLinesFile | undefined;
  #lines = 0;
  #unwritten: LogLine[] = [];
  #timer: NodeJS.Timeout | undefined;

  private constructor(file: JsonLinesFile | undefined) {
    this.#file = file;
  }

  /** `path` undefined: nothing is kept on disk. */
  static async open(path: string | undefined): Promise<ConversationLog> {
    const file = path === undefined ? undefined : new JsonLinesFile(path);
    const log = new ConversationLog(file);
    for (const text of (await file?.read()) ?? []) log.#read(text);
    await log.#rewrite();
    return log;
  }

  facts(id: string): ConversationFacts | undefined {
    return this.#facts.get(id);
  }

  /** Resolves when it is written: before anything else of the conversation is, so that a crash leaves none that is not known. */
  add(conversation: Pick<ConversationRecord, "id" | "scope" | "tools">, facts: ConversationFacts): Promise<void> {
    this.index.put({ ...conversation, lists: [], tail: [] });
    this.#facts.set(conversation.id, facts);
    this.#unwritten.push({ ...conversation, ...facts });
    const written = this.#write();
    const [oldest] = this.#facts.keys();
    if (this.#facts.size > conversationsMax && oldest !== undefined) {
      this.index.remove(oldest);
      this.#facts.delete(oldest);
    }
    return written;
  }

  /** The conversation was asked with this list. */
  note(id: string, { digests, tail, system }: NotedRequest): void {
    const list = digests.prefixDigests.at(-1) ?? "";
    const isSameSystem = this.index.get(id)?.system === system;
    this.#touch(id);
    this.index.addList(id, list, digests);
    this.index.setTail(id, tail);
    this.index.setSystem(id, system);
    const known = this.index.get(id);
    this.#unwritten.push({ id, lists: [list], tail: [...(known?.tail ?? [])], ...(isSameSystem ? {} : { system }) });
    // The first list is all that finds a conversation whose client names no session.
    if ((known?.lists.length ?? 0) <= 1) void this.#write();
    else this.#timer ??= setTimeout(() => void this.#write(), logDelayMs).unref();
  }

  /** For commands that show or change its session: the gateway's config may have another window than the model. It seldom changes, so it is written at once. */
  noteWindow(id: string, windowTokens: number): void {
    const facts = this.#facts.get(id);
    if (facts === undefined || facts.windowTokens === windowTokens) return;
    this.#facts.set(id, { ...facts, windowTokens });
    this.#unwritten.push({ id, windowTokens });
    void this.#write();
  }

  /** Forgets a conversation. What earlier lines say of it goes when the file is written anew. */
  remove(id: string): void {
    if (!this.#facts.delete(id)) return;
    this.index.remove(id);
    this.#unwritten.push({ id, removed: true });
    void this.#write();
  }

  /** Resolves when the file holds nothing of conversations that were removed. Rejects if it can't be written. */
  async rewrite(): Promise<void> {
    await this.#write();
    await this.#rewrite();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    await this.#write();
  }

  #touch(id: string): void {
    const facts = this.#facts.get(id);
    if (facts === undefined) return;
    this.#facts.delete(id);
    this.#facts.set(id, facts);
  }

  #read(text: string): void {
    const parsed = line.safeParse(tryParseJson(text));
    if (!parsed.success) return;
    const {
      id,
      scope,
      tools,
      user,
      project,
      client,
      first,
      lists = [],
      tail,
      system,
      removed,
      windowTokens,
    } = parsed.data;
    if (removed === true) {
      this.#facts.delete(id);
      this.index.remove(id);
      return;
    }
    if (scope !== undefined && tools !== undefined && user !== undefined) {
      this.index.put({ id, scope, tools, first, lists: [], tail: [] });
      this.#facts.set(id, { user, project, client });
    }
    const facts = this.#facts.get(id);
    if (facts !== undefined && windowTokens !== undefined) this.#facts.set(id, { ...facts, windowTokens });
    this.#touch(id);
    for (const list of lists) this.index.addList(id, list);
    if (tail !== undefined) this.index.setTail(id, tail);
    if (system !== undefined) this.index.setSystem(id, system);
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#unwritten;
    this.#unwritten = [];
    this.#lines += entries.length;
    // A line that can't be written costs a later recognition, not the request.
    if (this.#lines > 2 * this.#facts.size + logLinesSpare) return this.#rewrite().catch(() => undefined);
    return this.#file?.append(entries) ?? Promise.resolve();
  }

  /** One line for each conversation. */
  async #rewrite(): Promise<void> {
    const entries = [...this.#facts].flatMap(([id, facts]) => {
      const known = this.index.get(id);
      return known === undefined ? [] : [{ ...known, ...facts }];
    });
    this.#lines = entries.length;
    await this.#file?.rewrite(entries);
  }
}

/** The window of a conversation, read from the log of a gateway that may be running. Undefined: it is not one of the gateway's. */
export async function readWindow(path: string, id: string): Promise<number | undefined> {
  const read = (await new JsonLinesFile(path).read()).flatMap((text) => {
    const parsed = text.includes(id) ? line.safeParse(tryParseJson(text)) : undefined;
    return parsed?.success === true && parsed.data.id === id ? [parsed.data.windowTokens ?? []].flat() : [];
  });
  return read.at(-1);
}

import { appendFile, mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import {
  deferAfterConversations,
  deferredConversationsMax,
  toolBookLinesSpare,
  toolUsersMax,
  usedToolsMax,
} from "./limits.ts";
import { readLogLines } from "./read-log.ts";

const line = z.object({
  /** Whose tools: a user's program. */
  who: z.string().optional(),
  offered: z.array(z.string()).optional(),
  called: z.array(z.string()).optional(),
  conversation: z.string().optional(),
  deferred: z.array(z.string()).optional(),
  /** How many conversations `offered` stands for. */
  times: z.int().positive().optional(),
});
type BookLine = z.infer<typeof line>;

interface ToolUse {
  /** Conversations that began with it. */
  conversations: number;
  isCalled: boolean;
}

/**
 * Which tools the models of clients have called, and which ones each conversation defers: names only, in a file to which
 * lines are added. A tool is deferred in new conversations if several began with it and none has called it. What a
 * conversation defers stays as it is: its tools are the beginning of what the provider has cached.
 */
export class ToolUsageLog {
  readonly #useByWho = new Map<string, Map<string, ToolUse>>();
  readonly #deferredByConversation = new Map<string, ReadonlySet<string>>();
  readonly #path: string | undefined;
  #lines = 0;
  /** What was written last may lack its end. */
  #isTorn = false;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string | undefined) {
    this.#path = path;
  }

  /** `path` undefined: nothing is kept on disk. */
  static async open(path: string | undefined): Promise<ToolUsageLog> {
    const book = new ToolUsageLog(path);
    if (path === undefined) return book;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    for (const text of await readLogLines(path)) {
      const parsed = line.safeParse(tryParseJson(text));
      if (parsed.success) book.#take(parsed.data);
    }
    await book.#rewrite();
    return book;
  }

  /** The tools that a conversation defers. `begins`: its first request, for which they are chosen. */
  choose(
    conversation: string,
    {
      who,
      offered,
      at,
    }: { readonly who: string; readonly offered: readonly string[]; readonly at: "begins" | "goes-on" },
  ): ReadonlySet<string> {
    const known = this.#deferredByConversation.get(conversation);
    if (known !== undefined || at === "goes-on") return known ?? nothing;
    const use = this.#useByWho.get(who);
    const deferred = offered.filter((name) => {
      const { conversations = 0, isCalled = false } = use?.get(name) ?? {};
      return !isCalled && conversations >= deferAfterConversations;
    });
    this.#add({ who, offered: [...offered] });
    if (deferred.length > 0) this.#add({ conversation, deferred });
    return this.#deferredByConversation.get(conversation) ?? nothing;
  }

  recordCalls(who: string, names: Iterable<string>): void {
    const use = this.#useByWho.get(who);
    const called = [...new Set(names)].filter((name) => use?.get(name)?.isCalled === false);
    if (called.length > 0) this.#add({ who, called });
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  #take({ who, offered = [], called = [], times = 1, conversation, deferred }: BookLine): void {
    if (who !== undefined) {
      const use = this.#useByWho.get(who) ?? new Map<string, ToolUse>();
      this.#useByWho.delete(who);
      this.#useByWho.set(who, use);
      for (const name of offered) {
        const known = use.get(name);
        if (known !== undefined) known.conversations += times;
        else if (use.size < usedToolsMax) use.set(name, { conversations: times, isCalled: false });
      }
      for (const name of called) {
        const known = use.get(name);
        if (known !== undefined) known.isCalled = true;
      }
      dropFirst(this.#useByWho, toolUsersMax);
    }
    if (conversation === undefined || deferred === undefined) return;
    this.#deferredByConversation.set(conversation, new Set(deferred));
    dropFirst(this.#deferredByConversation, deferredConversationsMax);
  }

  #add(entry: BookLine): void {
    this.#take(entry);
    const path = this.#path;
    if (path === undefined) return;
    this.#lines += 1;
    const isLong = this.#lines > toolBookLinesSpare;
    // A line that can't be written costs a later choice, not the request.
    this.#writing = this.#writing
      .then(() => (isLong ? this.#rewrite() : this.#append(path, entry)))
      .catch(() => void (this.#isTorn = true));
  }

  async #append(path: string, entry: BookLine): Promise<void> {
    await appendFile(path, `${this.#isTorn ? "\n" : ""}${JSON.stringify(entry)}\n`, { mode: 0o600 });
    this.#isTorn = false;
  }

  /** Without what later lines say again. */
  async #rewrite(): Promise<void> {
    const path = this.#path;
    if (path === undefined) return;
    const lines: BookLine[] = [];
    for (const [who, use] of this.#useByWho) {
      for (const [name, { conversations }] of use) lines.push({ who, offered: [name], times: conversations });
      lines.push({ who, called: [...use].flatMap(([name, { isCalled }]) => (isCalled ? [name] : [])) });
    }
    for (const [conversation, deferred] of this.#deferredByConversation)
      lines.push({ conversation, deferred: [...deferred] });
    this.#lines = 0;
    const temporary = `${path}.new`;
    await writeFile(temporary, lines.map((one) => `${JSON.stringify(one)}\n`).join(""), { mode: 0o600 });
    await rename(temporary, path);
  }
}

const nothing: ReadonlySet<string> = new Set();

function dropFirst<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(key);
  }
}

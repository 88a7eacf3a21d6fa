import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { JsonLinesFile } from "../json-lines-file.ts";
import {
  deferAfterConversations,
  deferredConversationsMax,
  toolUsageLinesSpare,
  toolUsersMax,
  usedToolsMax,
} from "../limits.ts";

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
type UsageLine = z.infer<typeof line>;

interface ToolUse {
  /** Conversations that began with it. */
  conversations: number;
  isCalled: boolean;
}

interface ToolOffer {
  readonly who: string;
  readonly offered: readonly string[];
  readonly at: "begins" | "goes-on";
}

/**
 * Which tools the models of clients have called, and which ones each conversation defers: names only, in a file to which
 * lines are added. A tool is deferred in new conversations if several began with it and none has called it. What a
 * conversation defers stays as it is: its tools are the beginning of what the provider has cached.
 */
export class ToolUsageLog {
  readonly #useByWho = new Map<string, Map<string, ToolUse>>();
  readonly #deferredByConversation = new Map<string, ReadonlySet<string>>();
  readonly #file: JsonLinesFile | undefined;
  #lines = 0;

  private constructor(file: JsonLinesFile | undefined) {
    this.#file = file;
  }

  /** `path` undefined: nothing is kept on disk. */
  static async open(path: string | undefined): Promise<ToolUsageLog> {
    const file = path === undefined ? undefined : new JsonLinesFile(path);
    const log = new ToolUsageLog(file);
    for (const text of (await file?.read()) ?? []) {
      const parsed = line.safeParse(tryParseJson(text));
      if (parsed.success) log.#take(parsed.data);
    }
    await log.#rewrite();
    return log;
  }

  /** The tools that a conversation defers. `begins`: its first request, for which they are chosen. */
  choose(conversation: string, { who, offered, at }: ToolOffer): ReadonlySet<string> {
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

  /** Removes what is stored of deleted conversations; how often tools were called stays. Rejects if the file can't be written. */
  async forget(conversations: readonly string[]): Promise<void> {
    for (const conversation of conversations) this.#deferredByConversation.delete(conversation);
    await this.#rewrite();
  }

  async close(): Promise<void> {
    await this.#file?.append([]);
  }

  #take({ who, offered = [], called = [], times = 1, conversation, deferred }: UsageLine): void {
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

  #add(entry: UsageLine): void {
    this.#take(entry);
    this.#lines += 1;
    // A line that can't be written costs a later choice, not the request.
    if (this.#lines > toolUsageLinesSpare) void this.#rewrite().catch(() => undefined);
    else void this.#file?.append([entry]);
  }

  /** Without what later lines say again. */
  async #rewrite(): Promise<void> {
    const lines: UsageLine[] = [];
    for (const [who, use] of this.#useByWho) {
      for (const [name, { conversations }] of use) lines.push({ who, offered: [name], times: conversations });
      lines.push({ who, called: [...use].flatMap(([name, { isCalled }]) => (isCalled ? [name] : [])) });
    }
    for (const [conversation, deferred] of this.#deferredByConversation)
      lines.push({ conversation, deferred: [...deferred] });
    this.#lines = 0;
    await this.#file?.rewrite(lines);
  }
}

const nothing: ReadonlySet<string> = new Set();

function dropFirst<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(key);
  }
}

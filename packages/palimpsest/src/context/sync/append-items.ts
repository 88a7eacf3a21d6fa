import type { Block } from "../../schema/block.ts";
import { type EntryId, messageId, type ToolUseId } from "../../schema/brand.ts";
import type { Json } from "../../schema/json.ts";
import type { IdsDep } from "../../ports/clock-dep.ts";
import { type Draft, replyDraft, resultDraft, userDraft } from "../../transcript/draft.ts";
import { throwIfFailed } from "../context-error.ts";
import type { EventEmitter } from "../event-emitter.ts";
import { contextDraft } from "../inputs.ts";
import type { Rounds } from "../rounds.ts";
import type { SessionContext } from "../session-context.ts";
import type { KnownItems } from "./known-items.ts";
import type { SyncItem } from "./message-reader.ts";

/** What a sync needs of the context that it works in. */
export interface SyncHost extends IdsDep {
  readonly core: SessionContext;
  readonly rounds: () => Rounds;
  /** The user speaks: open calls are settled, and a new turn begins. */
  readonly beginTurn: () => Promise<void>;
  /** Another reply: the results of its calls are a round of their own. */
  readonly beginRound: () => void;
  readonly events: Pick<EventEmitter, "drain">;
}

/** Appends the items from index `from` on, as if each had been passed by its own call. */
export async function appendItems(
  host: SyncHost,
  known: KnownItems,
  { items, from }: { readonly items: readonly SyncItem[]; readonly from: number },
): Promise<void> {
  const appender = new ItemAppender({ host, known, items });
  for (let at = from; at < items.length;) at = await appender.append(at);
}

interface AppenderInput {
  readonly host: SyncHost;
  readonly known: KnownItems;
  readonly items: readonly SyncItem[];
}

class ItemAppender {
  readonly #host: SyncHost;
  readonly #known: KnownItems;
  readonly #items: readonly SyncItem[];

  constructor({ host, known, items }: AppenderInput) {
    this.#host = host;
    this.#known = known;
    this.#items = items;
  }

  /** Appends the item and what goes with it. Returns the index of the next one. */
  async append(at: number): Promise<number> {
    const item = this.#items[at];
    if (item === undefined) return at + 1;
    const group = this.#groupAt(at, item);
    switch (groupKind(item)) {
      case "reply":
        await this.#appendReply(group);
        break;
      case "results":
        await this.#appendResults(group);
        break;
      case "system":
        await this.#appendSystem(group);
        break;
      case "user":
        await this.#appendUser(group);
        break;
    }
    return at + group.length;
  }

  /** The items of the same message and kind. */
  #groupAt(at: number, { message, ...first }: SyncItem): readonly SyncItem[] {
    let end = at + 1;
    for (; end < this.#items.length; end += 1) {
      const item = this.#items[end];
      if (item?.message !== message || groupKind(item) !== groupKind(first)) break;
    }
    return this.#items.slice(at, end);
  }

  /** A reply that the caller got elsewhere. Its ids must be new: the same reply may stand on another branch. */
  async #appendReply(group: readonly SyncItem[]): Promise<void> {
    const { core, uuid } = this.#host;
    const { ids, baseline } = core.conversation;
    this.#host.beginRound();
    const id = ids.reply(messageId(`sync_${uuid()}`));
    for (const item of group) {
      if (item !== group[0]) this.#known.joinTip();
      const toolUse = item.block.type === "tool_use" ? ids.call(item.block.id) : undefined;
      const block =
        item.block.type === "tool_use" && toolUse !== undefined ? { ...item.block, id: toolUse } : item.block;
      const drafts = [...item.thinking, block].map((one) => reply({ id, model: baseline.model, block: one }));
      await this.#add([{ ...item, toolUse }], { append: () => this.#say(...drafts), ahead: item.thinking.length });
    }
  }

  async #appendResults(group: readonly SyncItem[]): Promise<void> {
    const { core, rounds } = this.#host;
    for (const item of group) await this.#add([item], { append: () => this.#appendResult(item) });
    if (core.session.fold.openCalls.size === 0) rounds().ended(group.length);
  }

  async #appendResult({ block, call, digest }: SyncItem): Promise<void> {
    if (block.type !== "tool_result") return;
    const { core, rounds, events } = this.#host;
    const { content = "", is_error: isError = false } = block;
    const called = call === undefined ? undefined : this.#items[call]?.block;
    const toolUse = this.#known.callAt(Number(digest.slice(digest.lastIndexOf("-") + 1)));
    if (called?.type !== "tool_use" || toolUse === undefined) {
      // No call goes with it, so it can't be sent. It is in the log.
      await this.#say(resultDraft({ toolUse: block.tool_use_id, content, isError }));
      return;
    }
    const tool = core.deps.tools.find(({ name }) => name === called.name);
    const outcome = isError ? "failed" : "done";
    await rounds().result({ call: { ...called, id: toolUse }, tool, content, outcome, summary: "" });
    // Not at the end of the group: what could not be stored must not become known.
    throwIfFailed(await events.drain(rounds().resultsIn()));
  }

  async #appendSystem(group: readonly SyncItem[]): Promise<void> {
    for (const item of group) {
      const { block } = item;
      const text = block.type === "text" ? block.text : JSON.stringify(rawBlock(block));
      await this.#add([item], { append: () => this.#say(contextDraft(text)) });
    }
  }

  /** Texts beside results belong to their turn. */
  async #appendUser(group: readonly SyncItem[]): Promise<void> {
    const [first] = group;
    const isBesideResults = this.#items.some(
      ({ message, block }) => message === first?.message && block.type === "tool_result",
    );
    if (!isBesideResults) await this.#host.beginTurn();
    const isPlain = group.length === 1 && first?.block.type === "text";
    const content = group.map(({ block }) => rawBlock(block));
    const draft = isPlain ? userDraft(first.block.text) : { type: "user", message: { role: "user", content } };
    await this.#add(group, { append: () => this.#say(draft) });
  }

  async #say(...drafts: readonly Draft[]): Promise<void> {
    throwIfFailed(await this.#host.rounds().say(...drafts));
  }

  /**
   * Several items in one entry can't be told apart later: only behind the last of them a branch may begin. `ahead`: how
   * many entries come before theirs.
   */
  async #add(
    items: readonly (Pick<SyncItem, "digest"> & { readonly toolUse?: ToolUseId | undefined })[],
    { append, ahead = 0 }: { readonly append: () => Promise<void>; readonly ahead?: number },
  ): Promise<void> {
    const { session } = this.#host.core;
    const length = session.fold.path.length;
    const record = (entry: EntryId | undefined): void => {
      for (const [nth, { digest, toolUse }] of items.entries())
        this.#known.add({ digest, toolUse, entry, behind: nth === items.length - 1 ? session.leaf : undefined });
    };
    const stored = (): EntryId | undefined => session.fold.path.at(length + ahead)?.entry.id;
    try {
      await append();
    } catch (error) {
      // What failed came behind it, such as an edit of the round's results: it must not be stored again.
      if (stored() !== undefined) record(stored());
      throw error;
    }
    record(stored());
  }
}

const groupKind = ({ role, block }: Pick<SyncItem, "role" | "block">): "reply" | "results" | "system" | "user" => {
  if (role === "assistant") return "reply";
  if (block.type === "tool_result") return "results";
  return role;
};

const reply = ({ id, model, block }: { id: ReturnType<typeof messageId>; model: string; block: Block }): Draft =>
  block.type === "unknown"
    ? { type: "assistant", message: { type: "message", role: "assistant", id, model, content: [block.was] } }
    : replyDraft({ id, model, content: [block] });

const rawBlock = (block: Block): Json | Block => (block.type === "unknown" ? block.was : block);

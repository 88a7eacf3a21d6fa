import type { Block, ServerSummary } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { textField } from "../schema/json.ts";
import type { Usage } from "../schema/usage.ts";
import { attachmentText } from "./attachment-text.ts";
import { userText } from "./user-text.ts";

/** What one entry says to the model. The view is a list of items, flattened; edits work on that list. */
export interface Item {
  readonly entry: EntryId;
  readonly role: "user" | "assistant";
  readonly messageId: MessageId | undefined;
  readonly blocks: readonly Block[];
  /** `left-out`: the item's thinking can't be sent, because it was signed for another or an edit changed its prefix. */
  readonly thinking: "kept" | "left-out";
  /** The type of the attachment that this is. */
  readonly attachment?: string | undefined;
  /** What the provider counted when it gave this reply. */
  readonly usage?: Usage | undefined;
  /** Of a reply with usage: the model that was asked. Each counts by its own tokenizer. */
  readonly model?: string | undefined;
  /** Another tool recorded it: what was counted with it, was counted for that tool's requests. */
  readonly foreign?: true;
  /** The summary of a boundary: what was counted before it says nothing of the view any more. */
  readonly summary?: true;
  /** A person said it, typed as a message or while the agent was at work. */
  readonly said?: true;
  /** Of a summary: shown in place of its first block to the model that wrote it. */
  readonly server?: ServerSummary;
  /** Position on the path: later edits and undos refer to what came before them. */
  readonly at: number;
}

/** Who wrote an entry. What another tool recorded was signed for that tool. */
export type EntryOrigin = "ours" | "foreign";

/** The item of an entry, or nothing where the entry says nothing to the model. */
export function toItem(entry: Entry, options: { readonly at: number; readonly origin: EntryOrigin }): Item | undefined {
  if (entry.id === undefined) return undefined;
  const thinking = options.origin === "foreign" ? "left-out" : "kept";
  const foreign = options.origin === "foreign" ? ({ foreign: true } as const) : {};
  const base = { entry: entry.id, thinking, at: options.at, ...foreign } as const;
  switch (entry.kind) {
    case "user":
      return {
        ...base,
        role: "user",
        messageId: undefined,
        blocks: entry.blocks,
        ...(entry.summary ? { summary: true } : {}),
        ...saidBy(entry),
        // What another tool recorded was signed for that tool.
        ...(entry.server === undefined || options.origin === "foreign" ? {} : { server: entry.server }),
      };
    case "assistant":
      return entry.synthetic
        ? undefined
        : {
            ...base,
            role: "assistant",
            messageId: entry.messageId,
            blocks: entry.blocks,
            usage: entry.usage,
            ...(entry.usage === undefined ? {} : { model: entry.askedModel ?? entry.model }),
          };
    case "attachment": {
      const said = attachmentText(entry.attachment);
      if (said === undefined) return undefined;
      const blocks: Block[] = [{ type: "text", text: said }];
      const attachment = textField(entry.attachment, "type");
      return { ...base, role: "user", messageId: undefined, blocks, attachment, ...saidBy(entry) };
    }
    case "edit":
    case "other":
      return undefined;
  }
}

const saidBy = (entry: Entry): Pick<Item, "said"> => (userText(entry) === undefined ? {} : { said: true });

const callsAny = ({ blocks }: Item, ids: ReadonlySet<ToolUseId>): boolean =>
  ids.size > 0 && blocks.some((block) => block.type === "tool_use" && ids.has(block.id));
const answersAny = ({ blocks }: Item, ids: ReadonlySet<ToolUseId>): boolean =>
  ids.size > 0 && blocks.some((block) => block.type === "tool_result" && ids.has(block.tool_use_id));

/**
 * Widens a choice of items so that it splits nothing: replies come whole, and results come with their calls.
 * `both`: a chosen result brings its call too, for edits that remove items; `calls`: only calls bring their results,
 * for edits that keep them.
 */
export function withPairs(
  items: readonly Item[],
  chosen: ReadonlySet<EntryId>,
  direction: "calls" | "both",
): Set<EntryId> {
  const widened = new Set(chosen);
  if (widened.size === 0) return widened;
  const replies = new Set<MessageId>();
  const answered = new Set<ToolUseId>();
  for (const item of items)
    if (direction === "both" && widened.has(item.entry))
      for (const block of item.blocks) if (block.type === "tool_result") answered.add(block.tool_use_id);
  for (const item of items) {
    if (item.messageId === undefined) continue;
    if (widened.has(item.entry) || callsAny(item, answered)) replies.add(item.messageId);
  }
  const calls = new Set<ToolUseId>();
  for (const item of items) {
    if (item.role !== "assistant") continue;
    if (item.messageId !== undefined && replies.has(item.messageId)) widened.add(item.entry);
    if (callsAny(item, answered)) widened.add(item.entry);
    if (widened.has(item.entry)) for (const block of item.blocks) if (block.type === "tool_use") calls.add(block.id);
  }
  for (const item of items) if (answersAny(item, calls)) widened.add(item.entry);
  return widened;
}

/**
 * Items as this model is shown them: a provider's own summary in front of all is its signed block, said by the assistant,
 * and what stands beside it, said to it. Anywhere else such a block is refused, and another model may not know it: there
 * its text stays.
 */
export function itemsForModel(reader: string | undefined, items: readonly Item[]): readonly Item[] {
  const [first, ...others] = items;
  if (first?.server === undefined || first.server.model !== reader) return items;
  const block: Item = { ...first, role: "assistant", blocks: [first.server.block] };
  return [block, { ...first, blocks: first.blocks.slice(1) }, ...others];
}

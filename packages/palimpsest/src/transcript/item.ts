import type { Block, ServerSummary } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { textField } from "../schema/json.ts";
import type { Usage } from "../schema/usage.ts";
import { attachmentText, bringsInstructions } from "./attachment-text.ts";
import { userText } from "./user-text.ts";

/** The content of one entry for the model. The view is a flattened list of items; edits work on that list. */
export interface Item {
  readonly entry: EntryId;
  readonly role: "user" | "assistant";
  readonly messageId: MessageId | undefined;
  readonly blocks: readonly Block[];
  /** `left-out`: the item's thinking can't be sent, because it was signed for another program or an edit changed its prefix. */
  readonly thinking: "kept" | "left-out";
  /** If the item is an attachment: its type. */
  readonly attachment?: string | undefined;
  /** If the item is an attachment with instructions for a part of the project. */
  readonly instructions?: true;
  /** The provider's counts for this reply. */
  readonly usage?: Usage | undefined;
  /** For a reply with usage: the requested model. Each model counts with its own tokenizer. */
  readonly model?: string | undefined;
  /** Another program recorded it, so its counts are for that program's requests. */
  readonly foreign?: true;
  /** The summary of a boundary: earlier counts no longer say anything about the view. */
  readonly summary?: true;
  /** The user said it, as a message or while the agent was working. */
  readonly said?: true;
  /** For a summary: replaces its first block for the model that wrote it. */
  readonly server?: ServerSummary;
  /** Position on the path: edits and undos apply to earlier positions. */
  readonly at: number;
}

/** A message of the user, or what stands for one: the first round behind it begins a turn. */
export const isUserTurn = ({ blocks, attachment, summary }: Item): boolean =>
  attachment === undefined && summary !== true && blocks.some(({ type }) => type === "text");

/** Who wrote an entry. Content recorded by another program was signed for that program. */
export type EntryOrigin = "ours" | "foreign";

/** The item of an entry; undefined if the entry has no content for the model. */
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
        ...saidMark(entry),
        // A foreign summary was signed for the program that recorded it.
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
      const text = attachmentText(entry.attachment);
      if (text === undefined) return undefined;
      const blocks: Block[] = [{ type: "text", text }];
      const attachment = textField(entry.attachment, "type");
      const instructions = bringsInstructions(entry.attachment) ? ({ instructions: true } as const) : {};
      return { ...base, role: "user", messageId: undefined, blocks, attachment, ...instructions, ...saidMark(entry) };
    }
    case "edit":
    case "other":
      return undefined;
  }
}

/** In an agent's transcript, what its parent said counts: an item is of the line that is shown, so no mark is needed. */
const saidMark = (entry: Entry): Pick<Item, "said"> =>
  userText(entry.sidechain ? { ...entry, sidechain: false } : entry) === undefined ? {} : { said: true };

const callsAny = ({ blocks }: Item, ids: ReadonlySet<ToolUseId>): boolean =>
  ids.size > 0 && blocks.some((block) => block.type === "tool_use" && ids.has(block.id));
const answersAny = ({ blocks }: Item, ids: ReadonlySet<ToolUseId>): boolean =>
  ids.size > 0 && blocks.some((block) => block.type === "tool_result" && ids.has(block.tool_use_id));

/**
 * Widens a selection of items so that it splits nothing: replies stay whole, and results stay with their calls.
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
 * The items as this model sees them. A provider's own summary at the very front becomes its signed block, as an assistant
 * item, followed by the text that goes with it, as a user item. Anywhere else the API refuses such a block, and another
 * model may not know it: there its text stays.
 */
export function itemsForModel(model: string | undefined, items: readonly Item[]): readonly Item[] {
  const [first, ...others] = items;
  if (first?.server === undefined || first.server.model !== model) return items;
  const block: Item = { ...first, role: "assistant", blocks: [first.server.block] };
  return [block, { ...first, blocks: first.blocks.slice(1) }, ...others];
}

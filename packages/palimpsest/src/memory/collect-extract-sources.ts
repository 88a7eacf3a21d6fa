import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Block } from "../schema/block.ts";
import type { Entry } from "../schema/entry.ts";
import { textField } from "../schema/json.ts";
import { attachmentText } from "../transcript/attachment-text.ts";
import { userText } from "../transcript/user-text.ts";
import type { WriteSources } from "./directory/checked-memories.ts";
import { resultTexts } from "./trust-sources.ts";

export interface ExtractSources extends WriteSources {
  /** The entries of the user's new messages. */
  readonly messages: readonly EntryId[];
  /** `agent`: the main agent itself changed a memory in the new messages. */
  readonly memoriesWrittenBy: "nobody" | "agent";
}

/** What the user said since an entry. Costs work in proportion to what is new. */
export const listNewTexts = (entries: readonly Entry[], since: EntryId | undefined): readonly string[] =>
  entries.slice(findNew(entries, since)).flatMap((entry) => (entry.sidechain ? [] : (userText(entry) ?? [])));

/** `since`: the newest entry that was considered before; undefined: none was. */
const findNew = (entries: readonly Entry[], since: EntryId | undefined): number =>
  since === undefined ? 0 : entries.findLastIndex(({ id }) => id === since) + 1;

/** Tools whose results repeat what is stored already. */
const recallingTools: ReadonlySet<string> = new Set(["memory", "recall"]);

/**
 * What was said since an entry, by whom, and what a session was told that later ones are told as well. `since`: the newest
 * entry that was considered before; undefined: none was.
 */
export function collectExtractSources(entries: readonly Entry[], since: EntryId | undefined): ExtractSources {
  const from = findNew(entries, since);
  const callById = new Map<ToolUseId, Extract<Block, { type: "tool_use" }>>();
  const [own, others, known]: [string[], string[], string[]] = [[], [], []];
  const messages: EntryId[] = [];
  let memoriesWrittenBy: ExtractSources["memoriesWrittenBy"] = "nobody";
  for (const [at, entry] of entries.entries()) {
    if (entry.sidechain) continue;
    known.push(...knownTexts(entry));
    if (entry.kind !== "user" && entry.kind !== "assistant" && entry.kind !== "attachment") continue;
    const isNew = at >= from;
    const said = userText(entry);
    if (isNew && said !== undefined) {
      own.push(said);
      if (entry.id !== undefined) messages.push(entry.id);
    }
    if (entry.kind === "attachment" || (entry.kind === "user" && entry.summary)) continue;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") callById.set(block.id, block);
      if (block.type === "text" && isNew && entry.kind === "assistant") others.push(block.text);
      if (block.type !== "tool_result") continue;
      const call = callById.get(block.tool_use_id);
      const isRecalled = recallingTools.has(call?.name.toLowerCase() ?? "");
      if (isRecalled) known.push(...resultTexts(block));
      else if (isNew) others.push(...resultTexts(block));
      if (isNew && call?.name === "memory" && isWrite(call) && block.is_error !== true) memoriesWrittenBy = "agent";
    }
  }
  return { own, others, known, messages, memoriesWrittenBy };
}

const isWrite = ({ input }: Extract<Block, { type: "tool_use" }>): boolean => textField(input, "command") !== "view";

/** Summaries, recalled memories, instruction files that came in later. */
function knownTexts(entry: Entry): readonly string[] {
  if (entry.kind === "user" && entry.summary)
    return entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (entry.kind !== "attachment" || isUsersAttachment(textField(entry.attachment, "type"))) return [];
  const text = attachmentText(entry.attachment);
  return text === undefined ? [] : [text];
}

/** What the user typed while the agent worked, and files that they named. */
const isUsersAttachment = (type: string | undefined): boolean => type === "queued_command" || type === "file";

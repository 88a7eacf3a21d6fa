import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Block } from "../schema/block.ts";
import type { Entry } from "../schema/entry.ts";
import { textField } from "../schema/json.ts";
import { attachmentText } from "../transcript/attachment-text.ts";
import type { WriteSources } from "./directory/checked-memories.ts";
import { extractScanCharsMax } from "./limits.ts";
import { resultTexts } from "./trust-sources.ts";

export interface ExtractSources extends Omit<WriteSources, "own"> {
  /** `agent`: the main agent itself changed a memory in the new messages. */
  readonly memoriesWrittenBy: "nobody" | "agent";
}

/** Tools whose results repeat what is stored already. */
const recallingTools: ReadonlySet<string> = new Set(["memory", "recall"]);

/**
 * What else was said since the user's first unread message, and what a session was told that later ones are told as well.
 * `first`: that message; if the session has dropped it, everything counts that is still there.
 */
export function collectExtractSources(entries: readonly Entry[], first: EntryId | undefined): ExtractSources {
  const from = Math.max(
    0,
    entries.findIndex(({ id }) => id === first),
  );
  const callById = new Map<ToolUseId, Extract<Block, { type: "tool_use" }>>();
  const [others, known]: [string[], string[]] = [[], []];
  let memoriesWrittenBy: ExtractSources["memoriesWrittenBy"] = "nobody";
  for (const [at, entry] of entries.entries()) {
    if (entry.sidechain) continue;
    known.push(...knownTexts(entry));
    if (entry.kind !== "user" && entry.kind !== "assistant" && entry.kind !== "attachment") continue;
    const isNew = at >= from;
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
  return { others: takeNewest(others), known, memoriesWrittenBy };
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

/** The newest texts, as many as fit: looking for the source of a sentence costs work in proportion to them. */
function takeNewest(texts: readonly string[]): readonly string[] {
  let used = 0;
  const over = texts.findLastIndex((text) => (used += text.length) > extractScanCharsMax);
  return texts.slice(over + 1);
}

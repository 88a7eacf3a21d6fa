import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { textField } from "../schema/json.ts";
import { agentMessageAttachmentType, attachmentText } from "../transcript/attachment-text.ts";
import { userText } from "../transcript/user-text.ts";
import type { TrustSources } from "./judge-trust.ts";

export interface SessionSources extends TrustSources {
  /** The entries since the user's newest message, with it. */
  readonly messages: readonly EntryId[];
}

/** Tools whose results say only what the model or the user said before. What was recalled or read is not among them. */
const echoingTools: ReadonlySet<string> = new Set(["todo", "plan", "compact", "memory", "ask_user"]);

/**
 * What was said in a session and by whom, for `judgeTrust`. `entries` in the order of the log; what a boundary covers counts
 * too, and of what was not read any more its summary.
 */
export function collectTrustSources(entries: readonly Entry[]): SessionSources {
  const toolByCall = new Map<ToolUseId, string>();
  const own: string[] = [];
  const outside: string[] = [];
  let messages: EntryId[] = [];
  let arrived: TrustSources["arrived"] = "never";
  for (const entry of entries) {
    if (entry.sidechain) continue;
    const said = userText(entry);
    if (said !== undefined) {
      own.push(said);
      messages = [];
      if (arrived === "since-user") arrived = "earlier";
    }
    if (entry.id !== undefined && entry.kind !== "other" && entry.kind !== "edit") messages.push(entry.id);
    if (entry.kind === "assistant")
      for (const block of entry.blocks)
        if (block.type === "tool_use") toolByCall.set(block.id, block.name.toLowerCase());
    const { texts, isNews } = outsideTexts(entry, toolByCall);
    outside.push(...texts);
    if (isNews) arrived = "since-user";
    else if (texts.length > 0 && arrived === "never") arrived = "earlier";
    if (entry.kind === "user") own.push(...entry.blocks.flatMap((block) => answersIn(block, toolByCall)));
  }
  return { own, outside: outside.toReversed(), arrived, messages };
}

interface OutsideTexts {
  readonly texts: readonly string[];
  /** Whether the model may be led by them from here on. */
  readonly isNews: boolean;
}

/** Attachments with words from outside, like results: files, and messages of other agents. */
const newsTypes: ReadonlySet<string> = new Set(["file", agentMessageAttachmentType]);

const nothing: OutsideTexts = { texts: [], isNews: false };

function outsideTexts(entry: Entry, toolByCall: ReadonlyMap<ToolUseId, string>): OutsideTexts {
  if (entry.kind === "attachment") {
    const isUsers = textField(entry.attachment, "type") === "queued_command";
    const text = isUsers ? undefined : attachmentText(entry.attachment);
    const isNews = newsTypes.has(textField(entry.attachment, "type") ?? "");
    return text === undefined ? nothing : { texts: [text], isNews };
  }
  if (entry.kind !== "user" && entry.kind !== "assistant") return nothing;
  if (entry.kind === "user" && entry.summary) return { texts: entry.blocks.flatMap(blockText), isNews: false };
  const results = entry.blocks.filter((block) => isResult(block));
  const toolName = (block: Block): string =>
    block.type === "tool_result" ? (toolByCall.get(block.tool_use_id) ?? "") : "";
  return {
    // What a view of a memory showed is compared too, since the memory may be gone by now.
    texts: results.filter((block) => toolName(block) !== "ask_user").flatMap(blockText),
    isNews: results.some((block) => !echoingTools.has(toolName(block))),
  };
}

/** Of our tools, of the provider's and of its servers. */
const isResult = ({ type }: Block): boolean => type.endsWith("_result");

function blockText(block: Block): readonly string[] {
  if (block.type === "text") return [block.text];
  if (block.type !== "tool_result") return [JSON.stringify(block)];
  return resultTexts(block);
}

export const resultTexts = ({ content = [] }: ToolResultBlock): readonly string[] =>
  typeof content === "string" ? [content] : content.flatMap((part) => textField(part, "text") ?? []);

/** The user's answers to questions, without the questions: those were the model's. */
function answersIn(block: Block, toolByCall: ReadonlyMap<ToolUseId, string>): readonly string[] {
  if (block.type !== "tool_result" || block.is_error === true || toolByCall.get(block.tool_use_id) !== "ask_user")
    return [];
  return resultTexts(block).flatMap((text) => [...text.matchAll(/"="([^"]*)"/g)].map(([, answer = ""]) => answer));
}

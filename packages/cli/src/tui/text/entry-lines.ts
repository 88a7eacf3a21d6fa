import type { Block } from "palimpsest/internal/schema/block";
import type { Entry } from "palimpsest/internal/schema/entry";
import { textField } from "palimpsest/internal/schema/json";
import { lastLine } from "palimpsest/internal/text/safe-cut-index";
import { agentMessageAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import { userText } from "palimpsest/internal/transcript/user-text";
import { titleCharsMax } from "../limits.ts";
import { parseAgentFrame } from "./agent-frame.ts";
import { callTitle } from "./call-title.ts";

/** An entry of a transcript for somebody who follows it: what was said and called; nothing for the rest. */
export function entryLines(entry: Entry): readonly string[] {
  const said = userText(entry);
  if (said !== undefined) return quote("> ", said);
  switch (entry.kind) {
    case "attachment":
      return textField(entry.attachment, "type") === agentMessageAttachmentType
        ? messageLines(textField(entry.attachment, "content") ?? "")
        : [];
    case "user":
    case "assistant":
      return entry.blocks.flatMap(blockLines);
    case "edit":
      return entry.edit.type === "boundary" ? ["(compacted)"] : [];
    case "other":
      return [];
  }
}

/** One line if the words are one. */
function messageLines(content: string): readonly string[] {
  const frame = parseAgentFrame(content);
  if (frame === undefined) return quote("", content);
  const { heading, text } = frame;
  if (text.trim() === "") return [heading];
  if (!text.trim().includes("\n") && !heading.includes(": ")) return [`${heading}: ${text.trim()}`];
  return [heading.includes(": ") ? heading : `${heading}:`, ...quote("  ", text)];
}

function blockLines(block: Block): readonly string[] {
  switch (block.type) {
    case "text":
      return quote("", block.text);
    case "tool_use":
      return [`* ${block.name} ${callTitle(block.name, block.input)}`];
    case "tool_result": {
      const text = typeof block.content === "string" ? block.content : "";
      const line = parseAgentFrame(text)?.heading ?? lastLine(text, titleCharsMax);
      return [`  ${block.is_error === true ? "failed" : "done"}${line === "" ? "" : `: ${line}`}`];
    }
    default:
      return [];
  }
}

const quote = (mark: string, text: string): readonly string[] =>
  text.trim() === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => `${mark}${line}`);

import type { Block } from "palimpsest/internal/schema/block";
import type { Entry } from "palimpsest/internal/schema/entry";
import { textField } from "palimpsest/internal/schema/json";
import { lastLine } from "palimpsest/internal/text/safe-cut-index";
import { agentMessageAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import { userText } from "palimpsest/internal/transcript/user-text";
import { titleCharsMax } from "../limits.ts";
import { callTitle } from "./call-title.ts";

/** An entry of a transcript for somebody who follows it: what was said and called; nothing for the rest. */
export function entryLines(entry: Entry): readonly string[] {
  const said = userText(entry);
  if (said !== undefined) return quote("> ", said);
  switch (entry.kind) {
    case "attachment":
      return textField(entry.attachment, "type") === agentMessageAttachmentType
        ? quote("", textField(entry.attachment, "content") ?? "")
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

function blockLines(block: Block): readonly string[] {
  switch (block.type) {
    case "text":
      return quote("", block.text);
    case "tool_use":
      return [`* ${block.name} ${callTitle(block.name, block.input)}`];
    case "tool_result": {
      const text = typeof block.content === "string" ? block.content : "";
      const line = lastLine(text, titleCharsMax);
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

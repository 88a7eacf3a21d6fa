import type { Block, Message } from "../../schema/block.ts";
import { field, isObject, type Json, parseJson, textField } from "../../schema/json.ts";
import { formatBytes } from "../../text/format-count.ts";
import type { View } from "../../transcript/fold.ts";

export interface ShownView {
  readonly system: readonly string[];
  readonly view: View;
}

/** For reading: every text whole, images and documents named. */
export function renderView({ system, view }: ShownView): string {
  const head = system.length === 0 ? [] : [`── system\n${system.join("\n")}\n`];
  return [...head, ...view.messages.map((message, index) => renderMessage(message, index + 1))].join("\n");
}

/** Messages API form, one message a line; the data of images and documents is left out. */
export function renderViewJson({ system, view }: ShownView): string {
  return [{ system }, ...view.messages].map((line) => JSON.stringify(line, leaveOutData)).join("\n");
}

/** The text of blocks in JSON, as they stand in results. */
export const renderBlocks = (blocks: readonly Json[]): string => blocks.map(renderPart).join("\n");

const renderMessage = ({ role, content }: Message, number: number): string =>
  `── ${number} ${role}\n${content.map(renderBlock).join("\n")}\n`;

function renderBlock(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return `[thinking] ${block.thinking}`;
    case "tool_use":
      return `[call ${block.name} ${block.id}] ${JSON.stringify(block.input)}`;
    case "tool_result": {
      const { content = "" } = block;
      const text = typeof content === "string" ? content : renderBlocks(content);
      return `[${block.is_error === true ? "error " : ""}result ${block.tool_use_id}]\n${text}`;
    }
    default:
      // Passed through unread, so that its type does not tell its fields.
      return renderPart(parseJson(JSON.stringify(block)));
  }
}

function renderPart(part: Json): string {
  if (!isObject(part)) return JSON.stringify(part);
  const text = textField(part, "text");
  if (text !== undefined) return text;
  const source = field(part, "source");
  const data = isObject(source) ? textField(source, "data") : undefined;
  const size = data === undefined ? "" : `, ${formatBytes(Math.floor((data.length * 3) / 4))}`;
  return `[${textField(part, "type") ?? "block"}${size}, not shown]`;
}

/** Only of media: a tool's input may have a field of the same name. */
function leaveOutData(_key: string, value: Json): Json {
  const data = isObject(value) && textField(value, "type") === "base64" ? textField(value, "data") : undefined;
  return isObject(value) && data !== undefined ? { ...value, data: `(${data.length} characters)` } : value;
}

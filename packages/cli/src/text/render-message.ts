import type { Block, Message } from "palimpsest/internal/schema/block";
import { isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { joinLines } from "./format.ts";
import type { Style } from "./style.ts";

/** Long enough to tell what a block is, short enough to skim a conversation. */
const shortCharsMax = 600;

interface MessageLook {
  readonly style: Style;
  readonly length: "full" | "short";
}

export function renderMessage(message: Message, look: MessageLook): string {
  const head = look.style(message.role === "user" ? "cyan" : "green", `── ${message.role}`);
  const blocks = message.content.map((block) => renderBlock(block, look));
  return `${head}\n${blocks.join("\n")}\n`;
}

export function renderSystem(texts: readonly string[], look: MessageLook): string {
  const blocks = texts.map((text) => renderBlock({ type: "text", text }, look));
  return `${look.style("bold", "── system")}\n${blocks.join("\n")}\n`;
}

function renderBlock(block: Block, { style, length }: MessageLook): string {
  const cut = (value: string): string => (length === "full" ? value : shortenText(value));
  switch (block.type) {
    case "text":
      return cut(block.text);
    case "thinking":
      return style("dim", `[thinking] ${cut(block.thinking)}`);
    case "tool_use":
      return `${style("yellow", `[call ${joinLines(block.name)}]`)} ${cut(JSON.stringify(block.input))} ${style("dim", joinLines(block.id))}`;
    case "tool_result": {
      const label = block.is_error === true ? "[error result]" : "[result]";
      return `${style("yellow", label)} ${style("dim", joinLines(block.tool_use_id))}\n${cut(resultText(block.content))}`;
    }
    default:
      return style("dim", `[${joinLines(block.type)}]`);
  }
}

const resultText = (content: string | readonly JsonObject[] | undefined): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => partText(part)).join("\n");

const partText = (part: JsonObject): string =>
  isObject(part) ? (textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`) : "";

/** Never cuts inside a character. */
function shortenText(value: string): string {
  const characters = value.slice(0, 2 * shortCharsMax);
  const shown = Array.from(characters).slice(0, shortCharsMax).join("");
  return shown.length === value.length
    ? value
    : `${shown}… (${value.length - shown.length} more characters; --full shows them)`;
}

/** The way out of a view that can't be sent because of open calls. */
export const openCallsAdvice =
  "Nothing has to be done: when the session goes on, a repair entry freezes a synthetic error result for each of them.";

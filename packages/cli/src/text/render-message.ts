import type { Block, Message } from "palimpsest/internal/schema/block";
import type { Entry } from "palimpsest/internal/schema/entry";
import { syncSettingName } from "palimpsest/internal/transcript/draft";
import type { View } from "palimpsest/internal/transcript/fold";
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

const openCallsAdvice =
  "Nothing has to be done: when the session goes on, a repair entry freezes a synthetic error result for each of them.";
const clientCallsAdvice = "Nothing has to be done: the client sends the result with its next request.";

/** Whether a session can be sent as it is, for the user. */
interface SendState {
  readonly text: string;
  readonly look: "green" | "yellow";
  readonly advice?: string | undefined;
}

/** `hasClient`: whole lists of another program made the session, which brings the results of its calls. */
export function describeSendState(
  { sendable, why }: Pick<View, "sendable" | "why">,
  { hasClient }: { readonly hasClient: boolean },
): SendState {
  if (sendable) return { text: "sendable", look: "green" };
  if (why?.code === "assistant-spoke-last")
    return { text: hasClient ? "waits for the client's next request" : "waits for the user", look: "green" };
  const reason = joinLines(why?.text ?? "");
  if (why?.code !== "open-calls") return { text: `not sendable: ${reason}`, look: "yellow" };
  return {
    text: reason.replace(/^it /, ""),
    look: "yellow",
    advice: hasClient ? clientCallsAdvice : openCallsAdvice,
  };
}

/** Whether another program's lists made the session: through the gateway, or by `context.sync`. */
export const hasClientLists = (entries: readonly Entry[]): boolean =>
  entries.some(
    (entry) => entry.kind === "edit" && entry.edit.type === "setting" && entry.edit.name === syncSettingName,
  );

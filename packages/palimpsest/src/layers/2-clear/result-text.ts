import type { ToolResultBlock } from "../../schema/block.ts";
import { textField } from "../../schema/json.ts";
import { refusalCharsMax } from "./limits.ts";

/** The trimmed text of a result. Other parts are shown by their type, so that an image does not count as nothing. */
export const resultText = ({ content = "" }: ToolResultBlock): string =>
  (typeof content === "string"
    ? content
    : content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`).join("\n")
  ).trim();

/** How known agents say that the user did not let a call run. */
const refusals: readonly RegExp[] = [
  /^the user (?:doesn't|does not) want to (?:proceed with|take) this/i,
  /^the user (?:rejected|denied|declined|refused|did not allow|didn't allow)\b/i,
  /\buser (?:rejected|denied|declined|refused|did not allow|did not approve|cancelled|canceled) (?:the |this |permission|execution|tool)/i,
  /\b(?:rejected|denied|declined|refused|not approved) by (?:the )?user\b/i,
  /^the tool (?:use|call) was (?:rejected|denied|declined)\b/i,
];

/** Such words introduce what the user wants instead. */
const userWords = /\b(?:user|they|person) (?:said|says|wrote|provided|gave|wants)\b|\bfeedback\b/i;

/** Whether the user refused the call: silently, or saying what to do instead. */
export function findRefusal(result: ToolResultBlock): "silent" | "with-words" | undefined {
  if (result.is_error !== true) return undefined;
  const text = resultText(result);
  const opening = text.slice(0, refusalCharsMax);
  if (!refusals.some((form) => form.test(opening))) return undefined;
  return text.length > refusalCharsMax || userWords.test(text) ? "with-words" : "silent";
}

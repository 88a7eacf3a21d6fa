import type { ToolResultBlock } from "../../schema/block.ts";
import { textField } from "../../schema/json.ts";
import { refusalCharsMax } from "./limits.ts";

/** Trimmed; what is no text stands as its type, so that an image is not taken for nothing. */
export const resultText = ({ content = "" }: ToolResultBlock): string =>
  (typeof content === "string"
    ? content
    : content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`).join("\n")
  ).trim();

/** How agents in the field say that a person did not let a call run. */
const refusals: readonly RegExp[] = [
  /^the user (?:doesn't|does not) want to (?:proceed with|take) this/i,
  /^the user (?:rejected|denied|declined|refused|did not allow|didn't allow)\b/i,
  /\buser (?:rejected|denied|declined|refused|did not allow|did not approve|cancelled|canceled) (?:the |this |permission|execution|tool)/i,
  /\b(?:rejected|denied|declined|refused|not approved) by (?:the )?user\b/i,
  /^the tool (?:use|call) was (?:rejected|denied|declined)\b/i,
];

/** Behind such words stands what the person wants instead. */
const ownWords = /\b(?:user|they|person) (?:said|says|wrote|provided|gave|wants)\b|\bfeedback\b/i;

/** A person did not let the call run: without a word, or saying what to do instead. */
export function findRefusal(result: ToolResultBlock): "silent" | "with-words" | undefined {
  if (result.is_error !== true) return undefined;
  const said = resultText(result);
  const opening = said.slice(0, refusalCharsMax);
  if (!refusals.some((form) => form.test(opening))) return undefined;
  return said.length > refusalCharsMax || ownWords.test(said) ? "with-words" : "silent";
}

import { brokenStream } from "../model/failure.ts";
import { parseBlock } from "../schema/block.ts";
import { isArray, type Json, parseJson } from "../schema/json.ts";
import type { ContentParams } from "../schema/wire/messages-params.ts";
import { type Draft, userDraft } from "../transcript/draft.ts";
import { ContextError } from "./context-error.ts";

export function userContentDraft(content: string | readonly ContentParams[]): Draft {
  if (typeof content === "string") {
    if (content.trim() === "") throw new ContextError("bad-option", "A user's message can't be empty.");
    return userDraft(content);
  }
  const blocks: Json = parseJson(JSON.stringify(content));
  const parsed = isArray(blocks) ? blocks.map(parseBlock) : [];
  const isSaid = parsed.length > 0 && parsed.every(({ type }) => saidTypes.has(type));
  if (!isSaid) throw new ContextError("bad-option", "A user's message has text, images and documents, at least one.");
  return { type: "user", message: { role: "user", content: blocks } };
}

const saidTypes: ReadonlySet<string> = new Set(["text", "image", "document", "search_result"]);

export const overLimitText = ({ tokens, limit }: { readonly tokens: number; readonly limit: number }): string =>
  `The request needs ${tokens} tokens; at most ${limit} fit. The system prompt, the tools or a single message is too large ` +
  "to summarize: shorten it, or raise contextTokens.";

export function adviceFor(failure: { readonly message: string }, tried: number): string {
  return tried === 0 ? failure.message : `${failure.message} A simplified request was refused as well.`;
}

export const endedEarly = brokenStream("The reply broke off before its end. What came whole of it is kept.");

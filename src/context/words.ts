import { type Json, parseJson } from "../schema/json.ts";
import type { ContentParams } from "../schema/wire/messages-params.ts";
import { type Draft, userDraft } from "../transcript/draft.ts";

export function saidDraft(content: string | readonly ContentParams[]): Draft {
  if (typeof content === "string") return userDraft(content);
  const blocks: Json = parseJson(JSON.stringify(content));
  return { type: "user", message: { role: "user", content: blocks } };
}

export const overLimitText = ({ tokens, limit }: { readonly tokens: number; readonly limit: number }): string =>
  `The request has ${tokens} tokens, and none over ${limit} can be sent. What fills it can't be summed up: it is the ` +
  "system prompt, the tools, or one message. Make these smaller, or give a larger window (contextTokens).";

export function adviceFor(failure: { readonly message: string }, tried: number): string {
  const plainer =
    tried === 0 ? "" : ` It was sent plainer ${tried === 1 ? "once" : `${tried} times`}, and refused again.`;
  return `${failure.message}${plainer}`;
}

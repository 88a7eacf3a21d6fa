import type { Message } from "palimpsest/internal/schema/block";
import { wireMessage, type WireMessage } from "palimpsest/internal/schema/wire/request";
import { compactionMove } from "@palimpsest/simulator/internal/actor/summary";
import { modelDefault } from "../limits.ts";
import type { Summarise } from "./summaries.ts";

/**
 * A summary in nine sections by the rules of the simulator's actor, the same for whoever asks: no model, no chance, and
 * at most a tenth of the conversation. It sees the messages that the policy shows, and in place of what the last compaction
 * left only the summary in it: what is put back beside a summary is put back anew.
 */
export const ruleSummariser =
  (): Summarise =>
  ({ messages, last }) => {
    const heard = messages.flatMap((message) => wireOf(withoutLeft(message, last)));
    const move = compactionMove({
      model: modelDefault,
      max_tokens: 1,
      messages: [...heard, { role: "user", content: "Summarise the conversation." }],
    });
    const said = move.kind === "say" ? move.blocks : [];
    const text = said.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return /<summary>\n([^]*)\n<\/summary>/.exec(text)?.[1] ?? text;
  };

function withoutLeft({ role, content }: Message, last: Parameters<Summarise>[0]["last"]): Message {
  if (last === undefined) return { role, content };
  return {
    role,
    content: content.flatMap((block) => {
      if (block.type !== "text" || !last.texts.has(block.text)) return [block];
      return block.text === last.summaryText ? [{ type: "text", text: last.summary }] : [];
    }),
  };
}

/** What has not the API's form is nothing that a summary could be about. */
function wireOf(message: Message): readonly WireMessage[] {
  const parsed = wireMessage.safeParse(message);
  return parsed.success ? [parsed.data] : [];
}

import type { Model } from "palimpsest/internal/schema/model";
import type { CompactionReply, ReplyBlock } from "palimpsest/internal/schema/wire/reply";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Admitted } from "../admit.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { modelTokens } from "../prompt-of.ts";
import { shownRequest } from "../rendering.ts";
import type { Question } from "../sampling.ts";
import type { CompactionAsked } from "./asked.ts";
import type { CompactionSeal } from "./seal.ts";
import { summaryIn } from "./summary-in.ts";
import { netToolChanges } from "./tool-changes.ts";

export interface SummaryInputs {
  readonly asked: CompactionAsked;
  readonly request: MessagesRequest;
  readonly admitted: Admitted;
  readonly model: Model;
}

/**
 * What the model is asked for a summary: the conversation as it is shown, and behind it the words that ask. What the
 * request allows its reply is no limit for a summary. The prompt has the request's own breakpoints, so it is read from
 * the cache as a reply's would be; the words are behind all of them.
 */
export function summaryQuestion({ asked, request, admitted, model }: SummaryInputs): Question {
  const { prompt, traits, rendering } = admitted;
  const shown = shownRequest(request, rendering);
  return {
    type: "compaction",
    request: {
      ...shown,
      messages: [...shown.messages, { role: "user", content: asked.instructions }],
      max_tokens: model.outputTokensMax,
      stop_sequences: null,
      compaction: null,
      context_management: null,
    },
    prompt: { ...prompt, tokens: prompt.tokens + modelTokens(asked.instructions, traits) },
    traits,
  };
}

export interface CompactionInputs {
  readonly asked: CompactionAsked;
  readonly request: MessagesRequest;
  readonly modelId: string;
  /** Of what was summed up. */
  readonly prompt: Prompt;
  /** What the model said when it was asked for a summary. */
  readonly said: readonly ReplyBlock[];
  readonly seal: CompactionSeal;
}

/** The block that stands for the conversation from now on; without content where the model gave no summary. */
export function compactionBlock({ asked, request, modelId, prompt, said, seal }: CompactionInputs): CompactionReply {
  const content = summaryIn({
    texts: said.flatMap((block) => (block.type === "text" ? [block.text] : [])),
    calls: said.filter(({ type }) => type === "tool_use").length,
  });
  if (content === undefined) return { type: "compaction", content: null, encrypted_content: null };
  const past = { model: modelId, chain: prompt.boundChain, header: headerOf(prompt) };
  if (asked.way === "threshold") {
    const hidden = seal.seal({ content, toolChanges: undefined }, past);
    return { type: "compaction", content, encrypted_content: hidden };
  }
  const toolChanges = netToolChanges(request);
  const signature = seal.seal({ content, toolChanges }, past);
  return { type: "compaction", content, encrypted_content: null, signature, tool_changes: toolChanges };
}

/** As the prompt's walk has it where the messages begin. */
const headerOf = ({ blocks }: Prompt): string => blocks.findLast(({ level }) => level !== "messages")?.chain ?? "";

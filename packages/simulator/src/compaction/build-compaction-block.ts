import type { Model } from "palimpsest/internal/schema/model";
import type { CompactionReply, ReplyBlock } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { AdmittedRequest } from "../admit.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { countModelTokens } from "../prompt/prompt-reader.ts";
import { renderRequest } from "../prompt/request-rendition.ts";
import type { SampleRequest } from "../reply/sampler.ts";
import type { DueCompaction } from "./compaction-block.ts";
import type { CompactionSeal } from "./compaction-seal.ts";
import { netToolChanges } from "../prompt/tool-set.ts";
import { findElements } from "../responder/request-text.ts";

/**
 * What the model is asked for a summary: the conversation as it is shown, followed by the instructions. The request's
 * `max_tokens` does not limit the summary. The prompt has the request's own breakpoints, so it is read from the cache
 * as a reply's would be; the instructions come after all of them.
 */
export function summarySample({
  asked,
  request,
  admitted,
  model,
}: {
  readonly asked: DueCompaction;
  readonly request: MessagesRequest;
  readonly admitted: AdmittedRequest;
  readonly model: Model;
}): SampleRequest {
  const { prompt, traits, rendering } = admitted;
  const shown = renderRequest(request, rendering);
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
    prompt: { ...prompt, tokens: prompt.tokens + countModelTokens(asked.instructions, traits) },
    traits,
  };
}

interface CompactionBlockInput {
  readonly asked: DueCompaction;
  readonly request: MessagesRequest;
  readonly modelId: string;
  /** The prompt that was summarised. */
  readonly prompt: Prompt;
  /** The model's reply to the request for a summary. */
  readonly said: readonly ReplyBlock[];
  readonly seal: CompactionSeal;
}

/** The block that replaces the conversation from now on; it has no content if the model gave no summary. */
export function buildCompactionBlock({
  asked,
  request,
  modelId,
  prompt,
  said,
  seal,
}: CompactionBlockInput): CompactionReply {
  const content = parseSummary({
    texts: said.flatMap((block) => (block.type === "text" ? [block.text] : [])),
    calls: said.filter(({ type }) => type === "tool_use").length,
  });
  if (content === undefined) return { type: "compaction", content: null, encrypted_content: null };
  const past = { model: modelId, chain: prompt.boundChain, header: headerChain(prompt) };
  if (asked.way === "threshold") {
    const hidden = seal.seal({ content, toolChanges: undefined }, past);
    return { type: "compaction", content, encrypted_content: hidden };
  }
  const toolChanges = netToolChanges(request);
  const signature = seal.seal({ content, toolChanges }, past);
  return { type: "compaction", content, encrypted_content: null, signature, tool_changes: toolChanges };
}

/** The prompt's hash chain where the messages begin. */
const headerChain = ({ blocks }: Prompt): string => blocks.findLast(({ level }) => level !== "messages")?.chain ?? "";

/** The model's reply to the request for a summary. */
interface SummaryReply {
  readonly texts: readonly string[];
  readonly calls: number;
}

/** Undefined if a tool was called or nothing was said: no summary can be made of that. */
export function parseSummary({ texts, calls }: SummaryReply): string | undefined {
  if (calls > 0) return undefined;
  const text = texts.join("");
  const [element] = findElements(text, (name) => name === "summary");
  // A summary that is never closed was cut short: what there is of it counts.
  const summary = (element?.inside ?? text.replace(/^[^]*?<summary>/i, "")).trim();
  return summary === "" ? undefined : summary;
}

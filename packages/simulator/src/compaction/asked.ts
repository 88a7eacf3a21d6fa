import type { ContextEdit, ContextEditOf } from "palimpsest/internal/schema/wire/context-management";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { compactTriggerTokensDefault } from "../limits.ts";
import { summaryPrompt } from "./summary-prompt.ts";

/** A compaction that a request asks for and that is due. */
export interface CompactionAsked {
  /** `on-demand`: the summary is the whole reply, and signed. */
  readonly way: "threshold" | "on-demand";
  /** The words in which the model is asked for the summary. */
  readonly instructions: string;
  /** Whether the model is asked for its reply then. */
  readonly afterwards: "reply" | "pause";
}

/** `promptTokens`: after all other edits. A request for no tokens only warms the cache. */
export function compactionAsked(request: MessagesRequest, promptTokens: number): CompactionAsked | undefined {
  if (request.compaction !== null && request.compaction !== undefined)
    return { way: "on-demand", instructions: wordsOf(request.compaction), afterwards: "pause" };
  const edit = (request.context_management?.edits ?? []).find(isCompactEdit);
  if (edit === undefined || request.max_tokens === 0) return undefined;
  if (promptTokens < (edit.trigger?.value ?? compactTriggerTokensDefault)) return undefined;
  const afterwards = edit.pause_after_compaction === true ? "pause" : "reply";
  return { way: "threshold", instructions: wordsOf(edit), afterwards };
}

export const isCompactEdit = (edit: ContextEdit): edit is ContextEditOf<"compact_20260112"> =>
  edit.type === "compact_20260112";

/** The client's words stand in place of the server's; blank ones are none. */
const wordsOf = ({ instructions }: { readonly instructions?: string | null | undefined }): string =>
  instructions !== null && instructions !== undefined && instructions.trim() !== "" ? instructions : summaryPrompt;

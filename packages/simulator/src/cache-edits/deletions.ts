import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { CacheEditsReply } from "palimpsest/internal/schema/wire/cache-edits";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { CachePlan } from "palimpsest/internal/cache/prompt-cache";
import type { Prompt, WithheldResult } from "palimpsest/internal/cache/prompt";
import { type Change, type Shown, withChanges } from "../editing/shown-blocks.ts";

/** Stands in place of a deleted result, for whoever answers. It costs no tokens. */
const deletedResultText = "[Tool result deleted from the cache]";

export interface DeletionInputs {
  readonly request: MessagesRequest;
  /** How it is shown with nothing deleted. */
  readonly shown: Shown;
  /** What the cache would do for this prompt at the start of the request. */
  readonly look: (prompt: Prompt) => CachePlan;
}

/**
 * How the request is shown without the results that it deletes by reference: those that lie in what the cache holds of
 * it at this moment. The others are shown. Where nothing is deleted nothing is looked at.
 */
export function withDeletions({ request, shown, look }: DeletionInputs): Shown {
  const asked = askedIds(request);
  if (asked.length === 0) return shown;
  const resultById = resultsIn(request, { asked: new Set(asked), shown });
  const { deleted } = look({ ...shown.prompt, withheld: { resultById, tokens: 0 } });
  if (deleted === undefined) return shown;
  const left = new Map(deleted.ids.flatMap((id) => entryOf(resultById, id)));
  const withheld = { resultById: left, tokens: deleted.tokens };
  return {
    prompt: { ...shown.prompt, tokens: shown.prompt.tokens - deleted.tokens, withheld },
    rendering: withChanges(
      shown.rendering,
      [...left.values()].map(({ change }) => change),
    ),
  };
}

/** What the reply says of it; nothing where the request has no `cache_edits`. What was not deleted was ignored. */
export function deletionReport(request: MessagesRequest, { deleted }: Pick<CachePlan, "deleted">): CacheEditsReply {
  if (request.cache_edits === null || request.cache_edits === undefined) return {};
  const applied = new Set(deleted?.ids);
  const asked = askedIds(request);
  return {
    cache_edits: {
      applied: asked.filter((id) => applied.has(id)),
      ignored: asked.filter((id) => !applied.has(id)),
      deleted_input_tokens: deleted?.tokens ?? 0,
    },
  };
}

export const askedIds = ({ cache_edits: edits }: MessagesRequest): readonly string[] =>
  (edits?.deletions ?? []).map(({ tool_use_id: id }) => id);

interface ShownResult extends WithheldResult {
  /** The result shown as deleted. */
  readonly change: Change;
}

const entryOf = (
  resultById: ReadonlyMap<string, ShownResult>,
  id: string,
): readonly (readonly [string, ShownResult])[] => {
  const result = resultById.get(id);
  return result === undefined ? [] : [[id, result]];
};

/** Those of the prompt: a result that the model is not shown anyway can't be deleted. */
function resultsIn(
  { messages }: MessagesRequest,
  { asked, shown }: { readonly asked: ReadonlySet<string>; readonly shown: Shown },
): ReadonlyMap<string, ShownResult> {
  const { blocks } = shown.prompt;
  const resultById = new Map<string, ShownResult>();
  for (const [position, { path, type, tokens, tokensUpTo }] of blocks.entries()) {
    if (type !== "tool_result") continue;
    const [, message = "", , block = ""] = path.split(".");
    const sent = resultAt(messages, { message: Number(message), block: Number(block) });
    if (sent === undefined || !asked.has(sent.tool_use_id)) continue;
    const change = { message: Number(message), path, shown: { ...sent, content: deletedResultText } };
    resultById.set(sent.tool_use_id, { position, tokens, tokensUpTo, change });
  }
  return resultById;
}

function resultAt(
  messages: MessagesRequest["messages"],
  { message, block }: { readonly message: number; readonly block: number },
): Extract<WireBlock, { type: "tool_result" }> | undefined {
  const content = messages[message]?.content;
  const found = typeof content === "object" ? content[block] : undefined;
  return found?.type === "tool_result" ? found : undefined;
}

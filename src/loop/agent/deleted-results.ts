import type { Candidate } from "../../layers/candidate.ts";
import type { PipelineState } from "../../layers/pipeline.ts";
import type { ResultContent } from "../../schema/block.ts";
import type { Millis, ToolUseId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { Item } from "../../transcript/item.ts";
import type { Clearable } from "./clearing-state.ts";
import type { ReckonedCache } from "./reckoned-cache.ts";
import { canDelete } from "./server-clearing.ts";

/** The request that lost the cache wrote everything again, with what was deleted there: from now on that counts as shown. */
export async function* forgetLost(clearable: Clearable): AsyncGenerator<LoopEvent> {
  const { cache } = clearable;
  const isLost = cache.deletions === "lost";
  cache.deletions = "held";
  if (!isLost) return;
  yield* forgetDeletions(clearable, {
    cause: "cache-break",
    because: (deleted) => `the cache in which ${deleted} was lost`,
  });
}

/**
 * Nobody knows whether this server deletes in its cache, and one that does not refuses a request that asks for it. So the
 * next request asks for no deletion, and the results count as shown. They can be deleted again once the server answers.
 */
export async function* forgetUnasked(clearable: Clearable, at: Millis): AsyncGenerator<LoopEvent> {
  // Of a cold cache they go by their markers, whatever the server can do.
  if (clearable.cache.prefixes.isCold(at)) return;
  yield* forgetDeletions(clearable, {
    cause: "clear.cacheEdits",
    because: (deleted) =>
      `${deleted} in the cache, and the server does not say now whether it can do that: shown again`,
  });
}

interface ForgetReason {
  readonly cause: string;
  readonly because: (deleted: string) => string;
}

async function* forgetDeletions({ line, conversation }: Clearable, reason: ForgetReason): AsyncGenerator<LoopEvent> {
  const { size } = line.fold.projection.serverDeleted;
  if (size === 0) return;
  const because = reason.because(deletedText(size));
  const drafts = [{ type: "server-edits", deleted: [], forgets: true, because }];
  const edited = await line.edit({ drafts, cause: reason.cause, nature: "reduced", because });
  conversation.breaks.expect("cache-edits");
  if (edited.kind === "edited") yield { kind: "edit", what: "server-edits", entries: edited.entries };
}

/**
 * Deleted in a cache that is gone, or of a server that takes no deletions: they would be shown and paid for again. Then
 * their markers take their place; where the cache was lost and written again by the request that found out, they may be
 * deleted there once more. A server that has not said what it takes is no reason.
 */
export function clearUndeleted(
  cache: ReckonedCache,
  { deletedInCache, items, count, moment }: PipelineState,
): Candidate | undefined {
  const isCold = cache.prefixes.isCold(moment.at);
  const takesNone = cache.offers !== undefined && !canDelete(cache);
  if (deletedInCache.size === 0 || (!isCold && !takesNone)) return undefined;
  const deleted = deletedText(deletedInCache.size);
  const why = isCold
    ? `the cache in which ${deleted} is cold`
    : `${deleted} in the cache of a server that can do that, and this one can't`;
  const removesTokens = resultContents(items, deletedInCache).reduce(
    (sum, { toolUse, content }) => sum + count({ type: "tool_result", tool_use_id: toolUse, content }),
    0,
  );
  return {
    layer: "clear.cacheEdits",
    removesTokens,
    behindTokens: 0,
    loss: "by-id",
    needs: "nothing",
    act: { kind: "clear", cause: "idle", results: [...deletedInCache], marker: "named" },
    because: `${why}: what is deleted would be shown again`,
  };
}

const deletedText = (results: number): string =>
  results === 1 ? "a result was deleted" : `${results} results were deleted`;

/** What the log holds of these results, in the order of the view. */
export function resultContents(
  items: readonly Item[],
  chosen: ReadonlySet<ToolUseId>,
): readonly { readonly toolUse: ToolUseId; readonly content: ResultContent }[] {
  return items.flatMap(({ blocks }) =>
    blocks.flatMap((block) =>
      block.type === "tool_result" && chosen.has(block.tool_use_id)
        ? [{ toolUse: block.tool_use_id, content: block.content ?? "" }]
        : [],
    ),
  );
}

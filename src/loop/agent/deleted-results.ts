import { deletedText } from "../../layers/2-clear/in-cache.ts";
import type { Millis } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { Clearable } from "./clearing-state.ts";

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

import type { SettleHost, SettleRun } from "../../layer.ts";
import { deletedText } from "./deleted-text.ts";

/**
 * Deletions that the next request does not ask for count no more, and their results as shown. Either the cache that held
 * them was lost, and the request that found out has written everything again. Or nobody knows whether this server deletes in
 * its cache, and one that does not refuses a request that asks for it: they can be deleted again once the server answers.
 * Of a cold cache they go by their markers, whatever the server can do.
 */
export async function* forgetDeletions(host: SettleHost): SettleRun {
  const { size } = host.withheld;
  if (size === 0) return;
  const deleted = deletedText(size);
  if (host.cache === "lost")
    yield* forget(host, { cause: "cache-break", because: `the cache in which ${deleted} was lost` });
  else if (host.offers === undefined && host.cache === "warm")
    yield* forget(host, {
      cause: "clear.cacheEdits",
      because: `${deleted} in the cache, and the server does not say now whether it can do that: shown again`,
    });
}

const forget = (
  host: SettleHost,
  { cause, because }: { readonly cause: string; readonly because: string },
): SettleRun => host.edit({ draft: { type: "server-edits", deleted: [], forgets: true, because }, cause, because });

import type { ClockDep } from "../../ports/clock.ts";
import type { ModelDep } from "../../ports/model.ts";
import type { Offers } from "../../layers/pipeline-state.ts";
import { field, isObject, type JsonObject } from "../../schema/json.ts";
import type { Numbers } from "../../settings/numbers.ts";
import { offersRetryMillis } from "../limits.ts";
import type { Clearable } from "./clearing-state.ts";

export interface OffersInput extends Clearable {
  readonly numbers: Numbers;
  readonly signal: AbortSignal;
}

/**
 * What the server can do about the context itself. It is asked until it answers, and only if the policy would make use of
 * it by now. Undefined: not known, because it did not answer or the turn was aborted, which does not wait for the answer.
 */
export async function offersOf(
  deps: ModelDep & ClockDep,
  { conversation, line, cache, numbers, signal }: OffersInput,
): Promise<Offers | undefined> {
  if (cache.offers !== undefined) return cache.offers;
  const { clear, compact } = numbers.policy;
  const { inCache, byServer } = clear;
  const isWanted =
    (inCache !== undefined &&
      numbers.switches["clear.cacheEdits"].value &&
      line.inventory.size >= inCache.fromResults) ||
    line.fold.projection.serverDeleted.size > 0 ||
    (byServer !== undefined && numbers.switches["clear.api"].value) ||
    (compact !== undefined && numbers.switches["compact.server"].value);
  if (!isWanted) return nothingOffered;
  const { unansweredAt } = cache;
  if (unansweredAt !== undefined && deps.now() - unansweredAt < offersRetryMillis) return undefined;
  const description = await untilAborted(deps.model.describe(conversation.baseline.model), signal);
  if (signal.aborted) return undefined;
  if (description === undefined) cache.unansweredAt = deps.now();
  else cache.offers = offered(description.capabilities);
  return cache.offers;
}

const nothingOffered: Offers = new Set();

async function untilAborted<Result>(answer: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const leave = (): void => aborted.resolve(undefined);
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

function offered(capabilities: JsonObject): Offers {
  const can = (name: string): boolean => {
    const capability = field(capabilities, name);
    return isObject(capability) && capability["supported"] === true;
  };
  return new Set([
    ...(can("cache_edits") ? (["cache-edits"] as const) : []),
    ...(can("context_management") ? (["context-edits"] as const) : []),
    ...(can("compaction") && summarises(capabilities) ? (["compaction"] as const) : []),
  ]);
}

/** At a threshold of its own is another thing than when it is asked to. */
function summarises(capabilities: JsonObject): boolean {
  const compaction = field(capabilities, "compaction");
  const summarize = isObject(compaction) ? field(compaction, "summarize") : undefined;
  return summarize === true || (isObject(summarize) && summarize["supported"] === true);
}

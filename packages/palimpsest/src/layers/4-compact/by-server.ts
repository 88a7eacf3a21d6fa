import { field, isObject, type JsonObject } from "../../schema/json.ts";
import { serverSummaryBeta } from "../../schema/server-summary.ts";
import type { Offers, PipelineState } from "../pipeline-state.ts";
import { nothingAsked, type ServerAsks, type ServerUse, supports } from "../server/server-use.ts";

/** Compaction by the provider, wherever it offers that and somebody turned it on. */
export const summaryByServer: ServerUse = {
  offer: "compaction",
  isOffered: (capabilities) => supports(capabilities, "compaction") && summarises(capabilities),
  isWanted: ({ policy, isOn }) => policy.compact !== undefined && isOn("compact.server"),
  asksByRule: (ask) => (canServerCompact(ask) ? serverCompactionAsks : nothingAsked),
};

interface CompactingServer extends Pick<PipelineState, "policy" | "isOn"> {
  readonly offers: Offers | undefined;
}

/**
 * Whether the provider may be asked for the summary of a conversation: somebody turned it on, the policy compacts, and the
 * model offers it. Valid once `offersOf` has asked.
 */
export const canServerCompact = ({ policy, isOn, offers }: CompactingServer): boolean =>
  isOn("compact.server") && policy.compact !== undefined && offers?.has("compaction") === true;

/**
 * With every request of a conversation that the provider may compact: betas are part of what its cache is found by, so
 * that one of the compaction's alone would read nothing. Nothing else is asked beside it: edits can't be combined with it.
 */
export const serverCompactionAsks: ServerAsks = { params: {}, betas: [serverSummaryBeta] };

/** At a threshold of its own is another thing than when it is asked to. */
function summarises(capabilities: JsonObject): boolean {
  const compaction = field(capabilities, "compaction");
  const summarize = isObject(compaction) ? field(compaction, "summarize") : undefined;
  return summarize === true || (isObject(summarize) && summarize["supported"] === true);
}

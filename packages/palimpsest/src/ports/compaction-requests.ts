/** The name of the tool with which the model asks for a compaction. Sessions and permission rules contain it. */
export const compactToolName = "compact";

/** Holds the agent's request for a compaction until the next safe point: before a model request, when every call is answered. */
export interface CompactionRequests {
  /** A newer note replaces an older one; the transcript still holds the calls that gave the older ones. */
  request(note: string): CompactionRequestOutcome;
  /**
   * Removes and returns the request, so that each is honoured once. Undefined if there is none, or if asking has been
   * turned off since.
   */
  take(): AgentCompactionRequest | undefined;
}

export interface AgentCompactionRequest {
  /** What the agent wants to find again after the summary, in its own words. */
  readonly note: string;
}

/** `why`: one line for the model. */
type CompactionRequestOutcome = { readonly kind: "taken" } | { readonly kind: "refused"; readonly why: string };

/** For forks, which must not compact their parent's conversation. */
export const refusedCompactionRequests: CompactionRequests = {
  request: () => ({ kind: "refused", why: "This is a side task: only the main conversation can ask for compaction." }),
  take: () => undefined,
};

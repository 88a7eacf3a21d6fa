/** The tool by which the model asks: sessions and permission rules know it by this name. */
export const compactToolName = "compact";

/** Where the agent's wish to be compacted waits for the next safe point: before a request, with every call answered. */
export interface CompactionRequests {
  /** Of several notes the newest counts; the calls that gave the others are in the transcript. */
  request(note: string): CompactionRequestOutcome;
  /** Takes the wish out, so that each is honoured once. Undefined where there is none, or asking was turned off since. */
  take(): AgentCompactionRequest | undefined;
}

export interface AgentCompactionRequest {
  /** What the agent wants to find again behind the summary, in its own words. */
  readonly note: string;
}

/** `why`: one line for the model. */
type CompactionRequestOutcome = { readonly kind: "taken" } | { readonly kind: "refused"; readonly why: string };

/** A fork's: its parent's conversation is not the fork's to compact. */
export const refusedCompactionRequests: CompactionRequests = {
  request: () => ({ kind: "refused", why: "This is a side task: only the main conversation can ask for compaction." }),
  take: () => undefined,
};

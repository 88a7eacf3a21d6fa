/** The tool by which the model asks: sessions and permission rules know it by this name. */
export const compactToolName = "compact";

/** Where the agent's wish to be compacted waits for the next safe point: before a request, with every call answered. */
export interface CompactionAsks {
  /** Of several notes the newest counts; the calls that gave the others are in the transcript. */
  ask(note: string): Asked;
  /** Takes the wish out, so that each is honoured once. Undefined where there is none, or asking was turned off since. */
  take(): CompactionWish | undefined;
}

export interface CompactionWish {
  /** What the agent wants to find again behind the summary, in its own words. */
  readonly note: string;
}

/** `why`: one line for the model. */
export type Asked = { readonly kind: "taken" } | { readonly kind: "refused"; readonly why: string };

/** A fork's: its parent's conversation is not the fork's to compact. */
export const refusingAsks: CompactionAsks = {
  ask: () => ({ kind: "refused", why: "This is a side task: only the main conversation can ask for compaction." }),
  take: () => undefined,
};

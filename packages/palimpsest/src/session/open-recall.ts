import { maskSecrets } from "../text/find-secrets.ts";
import type { OpenRecallOptions, OpenRecallOutcome, RecallSource } from "../ports/recall-index.ts";
import type { StorePorts } from "../ports/store.ts";
import { createDefaultRanker } from "../recall/default-ranker.ts";
import { sessionSource } from "./recall-sources.ts";

export interface OpenStoreRecallOptions {
  readonly maskText?: OpenRecallOptions["maskText"] | undefined;
  readonly ranker?: OpenRecallOptions["ranker"];
  /** Beside the store's own sessions. */
  readonly sources?: readonly RecallSource[] | undefined;
}

/** The index over all sessions of a store. Must not reject. */
export async function openStoreRecall(
  ports: Pick<StorePorts, "transcripts" | "blobs" | "sessions" | "recall">,
  { sources = [], maskText = maskSecrets, ranker = createDefaultRanker() }: OpenStoreRecallOptions = {},
): Promise<OpenRecallOutcome> {
  const { transcripts, blobs, sessions, recall } = ports;
  if (recall === undefined || sessions === undefined)
    return { kind: "unavailable", why: "this store keeps no list of its sessions, or no index of them" };
  return await recall.open({
    sources: [sessionSource({ transcripts, blobs, sessions }), ...sources],
    maskText,
    ranker,
  });
}

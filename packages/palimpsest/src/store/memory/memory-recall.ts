import type { ClockDep } from "../../ports/clock-dep.ts";
import type { RecallIndexes } from "../../ports/recall-index.ts";

/** An index in memory. Each `open` makes a new one, and nothing of SQLite is loaded before. */
export const memoryRecall = ({ now }: ClockDep): RecallIndexes => ({
  // It ends when it is closed.
  exists: async () => false,
  open: async (options) => {
    const { openRecallIndex } = await import("../recall/open-index.ts");
    const place = { path: ":memory:", codec: plainCodec, remove: () => {}, sizeBytes: async () => 0 };
    return await openRecallIndex({ now, uuid: () => "memory" }, { place, options });
  },
});

/** In memory, texts take less time than they take space. */
const plainCodec = { compress: (bytes: Uint8Array) => bytes, expand: (bytes: Uint8Array) => bytes };

import { setTimeout as wait } from "node:timers/promises";
import type { WriteFailure } from "../../../packages/palimpsest/src/ports/blobs.ts";
import type { Store } from "../../../packages/palimpsest/src/ports/store.ts";
import type { OpenForWritingOutcome, TranscriptWriter } from "../../../packages/palimpsest/src/ports/transcripts.ts";

/** What is wrong with a store. `after`: so many writes succeed first. */
export type StoreFault =
  | { readonly kind: "none" }
  | { readonly kind: "disk-full" | "read-only" | "throws"; readonly after: number }
  | { readonly kind: "busy" }
  | { readonly kind: "slow"; readonly ms: number };

export interface FaultyStore extends Store {
  fail(fault: StoreFault): void;
}

/** A store whose writes fail on demand. `onStrike` is told of each write that met a fault. */
export function faultyStore(
  store: Store,
  onStrike: (fault: StoreFault["kind"]) => void = () => undefined,
): FaultyStore {
  let fault: StoreFault = { kind: "none" };
  let written = 0;
  const strike = async (): Promise<WriteFailure | undefined> => {
    if (fault.kind === "slow") {
      onStrike(fault.kind);
      await wait(fault.ms);
    }
    if (fault.kind === "none" || fault.kind === "slow" || fault.kind === "busy") return undefined;
    written += 1;
    if (written <= fault.after) return undefined;
    onStrike(fault.kind);
    if (fault.kind === "throws") throw new Error("the store has a bug");
    return { kind: "failed", why: fault.kind, message: `The transcript can't be written: ${fault.kind}.` };
  };
  const watch = (outcome: OpenForWritingOutcome): OpenForWritingOutcome =>
    outcome.kind === "open" ? { ...outcome, writer: faultyWriter(outcome.writer, strike) } : outcome;
  const open = async (act: () => Promise<OpenForWritingOutcome>): Promise<OpenForWritingOutcome> =>
    fault.kind === "busy" ? { kind: "busy", holder: "another program" } : ((await strike()) ?? watch(await act()));
  return {
    fail: (next) => {
      fault = next;
      written = 0;
    },
    open: async () => {
      const opened = await store.open();
      if (opened.kind === "failed") return opened;
      const { transcripts, blobs } = opened;
      return {
        ...opened,
        blobs: { ...blobs, put: async (bytes) => (await strike()) ?? (await blobs.put(bytes)) },
        transcripts: {
          ...transcripts,
          create: (id) => open(() => transcripts.create(id)),
          openForWriting: (id) => open(() => transcripts.openForWriting(id)),
        },
      };
    },
  };
}

const faultyWriter = (writer: TranscriptWriter, strike: () => Promise<WriteFailure | undefined>): TranscriptWriter => ({
  id: writer.id,
  append: async (lines) => (await strike()) ?? (await writer.append(lines)),
  endTurn: async () => (await strike()) ?? (await writer.endTurn()),
  blank: (ranges) => writer.blank(ranges),
  close: () => writer.close(),
  discard: () => writer.discard(),
});

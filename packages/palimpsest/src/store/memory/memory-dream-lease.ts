import type { ClockDep } from "../../ports/clock-dep.ts";
import type { DreamLeases } from "../../ports/dream-lease.ts";
import type { Millis } from "../../schema/brand.ts";
import { dreamOverdueMs } from "../limits.ts";

/** For the sessions of one process. */
export function memoryDreamLeases({ now }: ClockDep): DreamLeases {
  let last: Millis | undefined;
  let running: { readonly since: Millis } | undefined;
  return {
    lastAt: async () => last,
    acquire: async () => {
      if (running !== undefined) {
        const { since } = running;
        const state = now() - since > dreamOverdueMs ? "overdue" : "running";
        return { kind: "busy", holder: "another session of this process", since, state };
      }
      const [held, lastAt] = [{ since: now() }, last];
      running = held;
      const end = (next: Millis | undefined) => {
        if (running !== held) return;
        running = undefined;
        last = next;
      };
      return {
        kind: "acquired",
        lease: { lastAt, succeed: async () => end(held.since), fail: async () => end(lastAt) },
      };
    },
  };
}

import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Lease, Leases } from "../../ports/store.ts";

/** Leases between the callers that share this object. A lease in memory is never lost or left behind by a dead process. */
export function memoryLeases({ now }: ClockDep): Leases {
  const heldByName = new Map<string, { readonly holder: string; readonly lease: Lease }>();
  return {
    acquire: async (name) => {
      const held = heldByName.get(name);
      if (held !== undefined) return { kind: "busy", holder: held.holder };
      const isHeld = (): boolean => heldByName.get(name)?.lease === lease;
      const lease: Lease = {
        state: async () => (isHeld() ? "held" : "lost"),
        release: async () => {
          if (isHeld()) heldByName.delete(name);
        },
      };
      const holder = `process ${process.pid} on this machine since ${new Date(now()).toISOString()}`;
      heldByName.set(name, { holder, lease });
      return { kind: "acquired", lease };
    },
    look: async (name) => {
      const held = heldByName.get(name);
      return held === undefined ? { kind: "free" } : { kind: "held", holder: held.holder };
    },
  };
}

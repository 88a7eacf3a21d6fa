import { describe, expect, it, onTestFinished } from "vitest";
import type { Lease, LeaseOutcome, Leases } from "../../packages/palimpsest/src/ports/store.ts";
import { skipped } from "./skipped.ts";

export interface LeasesUnderTest {
  readonly name: string;
  readonly make: () => Promise<Leases>;
  /** A holder that died without releasing it; or why there can be none. */
  readonly leave: ((leases: Leases, name: string) => Promise<void>) | string;
}

/** The rules of the port, for every implementation alike. */
export function leasesContract({ name, make, leave }: LeasesUnderTest): void {
  describe(`leases in ${name}`, () => {
    it("go to one at a time, and the next is told who has it", async () => {
      const leases = await make();
      leaseOf(await leases.acquire("s"));
      expect(await leases.acquire("s")).toEqual({ kind: "busy", holder: expect.stringMatching(/\S/) as unknown });
    });

    it("go to exactly one of many who ask at once", async () => {
      const leases = await make();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => leases.acquire("s")));
      expect(outcomes.filter(({ kind }) => kind === "acquired").map(leaseOf)).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === "busy")).toHaveLength(19);
    });

    it("are apart by name", async () => {
      const leases = await make();
      leaseOf(await leases.acquire("one"));
      leaseOf(await leases.acquire("two"));
    });

    it("are free again once they are released, and lost to who released them", async () => {
      const leases = await make();
      const first = leaseOf(await leases.acquire("s"));
      expect(await first.state()).toBe("held");
      await first.release();
      const second = leaseOf(await leases.acquire("s"));
      expect([await first.state(), await second.state()]).toEqual(["lost", "held"]);
    });

    it("can be released twice, and only the first frees them", async () => {
      const leases = await make();
      const first = leaseOf(await leases.acquire("s"));
      await first.release();
      const second = leaseOf(await leases.acquire("s"));
      await first.release();
      expect(await second.state()).toBe("held");
      expect((await leases.acquire("s")).kind).toBe("busy");
    });

    it("are looked at without being taken", async () => {
      const leases = await make();
      expect(await leases.look("s")).toEqual({ kind: "free" });
      const lease = leaseOf(await leases.acquire("s"));
      const busy = await leases.acquire("s");
      expect(await leases.look("s")).toEqual({ kind: "held", holder: busy.kind === "busy" ? busy.holder : "" });
      expect(await lease.state()).toBe("held");
      await lease.release();
      expect(await leases.look("s")).toEqual({ kind: "free" });
    });

    const endless = typeof leave === "string" ? leave : undefined;
    it.skipIf(endless)(`that a dead process left are seen as such, and taken over${skipped(endless)}`, async () => {
      const leases = await make();
      if (typeof leave === "function") await leave(leases, "s");
      expect(await leases.look("s")).toEqual({ kind: "left" });
      expect(await leaseOf(await leases.acquire("s")).state()).toBe("held");
    });
  });
}

/** Released at the end of the running test. */
function leaseOf(outcome: LeaseOutcome): Lease {
  if (outcome.kind !== "acquired") throw new Error(`not acquired: ${JSON.stringify(outcome)}`);
  onTestFinished(() => outcome.lease.release());
  return outcome.lease;
}

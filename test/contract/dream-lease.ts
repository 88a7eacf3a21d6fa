import { describe, expect, it } from "vitest";
import type { ClockDep } from "../../packages/palimpsest/src/ports/clock-dep.ts";
import type { DreamLease, DreamLeaseOutcome, DreamLeases } from "../../packages/palimpsest/src/ports/dream-lease.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { skipped } from "./skipped.ts";

export interface DreamLeasesUnderTest {
  readonly name: string;
  readonly make: (clock: ClockDep) => Promise<DreamLeases>;
  /** A holder that died while it dreamt; or why there can be none. */
  readonly leave: ((leases: DreamLeases) => Promise<void>) | string;
}

const start = Date.UTC(2026, 10, 1);

/** The rules of the port, for every implementation alike. */
export function dreamLeasesContract({ name, make, leave }: DreamLeasesUnderTest): void {
  const create = async () => {
    let time = start;
    const leases = await make({ now: () => millis(time) });
    return { leases, pass: (ms: number) => (time += ms) };
  };

  describe(`the lease of a dream in ${name}`, () => {
    it("knows of no dream at first", async () => {
      const { leases } = await create();
      expect(await leases.lastAt()).toBeUndefined();
    });

    it("keeps the time at which a dream that succeeded began", async () => {
      const { leases, pass } = await create();
      const lease = held(await leases.acquire());
      pass(60_000);
      expect(lease.lastAt).toBeUndefined();
      await lease.succeed();
      expect(await leases.lastAt()).toBe(start);
    });

    it("goes back to the time before after a failure, and to none if there was none", async () => {
      const { leases, pass } = await create();
      await held(await leases.acquire()).fail();
      expect(await leases.lastAt()).toBeUndefined();
      await held(await leases.acquire()).succeed();
      pass(1_000);
      const lease = held(await leases.acquire());
      expect(lease.lastAt).toBe(start);
      await lease.fail();
      expect(await leases.lastAt()).toBe(start);
    });

    it("goes to exactly one of many who ask at once, and the others are told who has it", async () => {
      const { leases } = await create();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => leases.acquire()));
      expect(outcomes.filter(({ kind }) => kind === "acquired")).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.kind !== "acquired") expect(outcome).toMatchObject({ kind: "busy", state: "running" });
    });

    it("counts a dream that runs as none yet", async () => {
      const { leases } = await create();
      held(await leases.acquire());
      expect(await leases.lastAt()).toBeUndefined();
    });

    it("leaves a dream alone that lives and takes long, and says that it is overdue", async () => {
      const { leases, pass } = await create();
      held(await leases.acquire());
      pass(61 * 60_000);
      expect(await leases.acquire()).toMatchObject({ kind: "busy", since: start, state: "overdue" });
    });

    it("is ended once: what comes later changes nothing, also when another one dreams", async () => {
      const { leases, pass } = await create();
      const first = held(await leases.acquire());
      await first.succeed();
      await first.fail();
      expect(await leases.lastAt()).toBe(start);
      pass(5_000);
      const second = held(await leases.acquire());
      await first.fail();
      expect(await leases.acquire()).toMatchObject({ kind: "busy" });
      await second.succeed();
      expect(await leases.lastAt()).toBe(start + 5_000);
    });

    const endless = typeof leave === "string" ? leave : undefined;
    it.skipIf(endless)(
      `can be taken over from a process that died, with the time before it${skipped(endless)}`,
      async () => {
        const { leases, pass } = await create();
        await held(await leases.acquire()).succeed();
        pass(1_000);
        if (typeof leave === "function") await leave(leases);
        expect(await leases.lastAt()).toBe(start);
        const lease = held(await leases.acquire());
        expect(lease.lastAt).toBe(start);
        await lease.fail();
        expect(await leases.lastAt()).toBe(start);
      },
    );
  });
}

export function held(outcome: DreamLeaseOutcome): DreamLease {
  if (outcome.kind !== "acquired") throw new Error(`not acquired: ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

import { describe, expect, it } from "vitest";
import type { CompactionRequests } from "../../packages/palimpsest/src/ports/compaction-requests.ts";
import type { PlanMode } from "../../packages/palimpsest/src/ports/plan-mode.ts";

export interface CompactionRequestsUnderTest {
  readonly name: string;
  readonly make: () => CompactionRequests;
  /** Whether it takes what is asked. */
  readonly takes: "yes" | "no";
}

/** The rules of the port. */
export function compactionRequestsContract({ name, make, takes }: CompactionRequestsUnderTest): void {
  describe(`asking for compaction, ${name}`, () => {
    it("gives nothing where nothing was asked", () => {
      expect(make().take()).toBeUndefined();
    });

    it("gives the newest request once, or refuses with a line for the model and has nothing to give", () => {
      const asks = make();
      const refused = { kind: "refused", why: expect.stringMatching(/^[^\n]+$/) as unknown };
      const asked = takes === "yes" ? { kind: "taken" } : refused;
      expect([asks.request("first"), asks.request("second")]).toEqual([asked, asked]);
      expect([asks.take(), asks.take()]).toEqual([takes === "yes" ? { note: "second" } : undefined, undefined]);
    });
  });
}

export interface PlanningUnderTest {
  readonly name: string;
  readonly make: () => Promise<PlanMode>;
  /** `nobody`: it may plan, and nobody looks at the plan. `never`: it may not plan at all. */
  readonly plans: "nobody" | "never";
}

const never = new AbortController().signal;

/** The rules of the port. */
export function planningContract({ name, make, plans }: PlanningUnderTest): void {
  const refused = { kind: "failed", message: expect.stringMatching(/^[^\n]+$/) as unknown };
  describe(`planning, ${name}`, () => {
    it("enters plan mode, also twice, or says why not", async () => {
      const planning = await make();
      const expected = plans === "never" ? refused : { kind: "on" };
      expect([await planning.enter(), await planning.enter()]).toEqual([expected, expected]);
    });

    it("accepts no plan that nobody has looked at, nor one whose question was taken away", async () => {
      const planning = await make();
      expect(await planning.propose("1. Look.", never)).toEqual(plans === "never" ? refused : { kind: "nobody" });
      expect(await planning.propose("1. Look.", AbortSignal.abort())).not.toMatchObject({ kind: "accepted" });
    });
  });
}

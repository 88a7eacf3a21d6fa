import { describe, expect, it } from "vitest";
import { restoreBudgets } from "../../packages/palimpsest/src/layers/4-compact/plan-restoration.ts";
import type { RestoreRequest, WorkingStatePart } from "../../packages/palimpsest/src/ports/working-state.ts";
import { skipped } from "./skipped.ts";

export interface PartUnderTest {
  readonly name: string;
  /** Of an agent that works with something. */
  readonly full: () => Promise<WorkingStatePart>;
  /** Of one that has nothing of it; or why there is no such agent. */
  readonly empty: (() => Promise<WorkingStatePart>) | string;
}

const request: RestoreRequest = { budgets: restoreBudgets(200_000), isKept: () => false };

/** The rules of the port. */
export function workingStateContract({ name, full, empty }: PartUnderTest): void {
  describe(`the part ${name} of the working state`, () => {
    it("goes by its name, which is one word", async () => {
      expect((await full()).name).toBe(name);
      expect(name).toMatch(/^[a-z]+$/);
    });

    it("tells pieces with a line of title and their text, or how to get at it, within a budget", async () => {
      const state = await (await full()).snapshot(request);
      if (state?.kind !== "state") return expect.unreachable(state?.message ?? "it tells nothing");
      expect(state.pieces.length).toBeGreaterThan(0);
      for (const { title, text, handle } of state.pieces) {
        expect(title).toMatch(/^[^\n]+$/);
        expect(text ?? handle).toMatch(/\S/);
      }
      expect(state.budget.pieceTokensMax).toBeGreaterThan(0);
      expect(state.budget.tokensMax).toBeLessThanOrEqual(request.budgets.tokensMax);
    });

    it("tells the same twice: what has not changed stays a prefix of what is sent", async () => {
      const part = await full();
      expect(await part.snapshot(request)).toEqual(await part.snapshot(request));
    });

    const never = typeof empty === "string" ? empty : undefined;
    it.skipIf(never)(`says nothing where there is nothing to tell${skipped(never)}`, async () => {
      const part = typeof empty === "function" ? await empty() : undefined;
      expect(await part?.snapshot(request)).toBeUndefined();
    });
  });
}

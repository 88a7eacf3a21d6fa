import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PermissionPrompt, UserPort, QuestionPrompt } from "../../packages/palimpsest/src/ports/user-port.ts";
import type { PlanReviewRequest, PlanReview } from "../../packages/palimpsest/src/ports/plan-mode.ts";
import { toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";

export interface PersonUnderTest {
  readonly name: string;
  readonly make: () => Promise<Asked>;
}

export interface Asked {
  readonly user: UserPort & PlanReview;
  /** The user says no to what is shown. Absent: nobody is there. */
  readonly sayNo?: () => Promise<void>;
}

const permission: PermissionPrompt = {
  toolUse: toolUseId("t1"),
  tool: "bash",
  input: { command: "make install" },
  acts: [],
  reason: "It may change anything.",
};
const question: QuestionPrompt = {
  toolUse: toolUseId("t2"),
  questions: [{ question: "Which one?", choose: "one", options: [{ label: "this" }, { label: "that" }] }],
};
const plan: PlanReviewRequest = { plan: "1. Look.\n2. Change it.", path: "/plan.md" };
const never = new AbortController().signal;

/** The rules of the port, for whoever asks the user, and for nobody. */
export function userContract({ name, make }: PersonUnderTest): void {
  const asks: readonly (readonly [string, (user: Asked["user"], signal: AbortSignal) => Promise<unknown>])[] = [
    ["a permission", (user, signal) => user.permission(permission, signal)],
    ["a question", (user, signal) => user.question(question, signal)],
    ["a plan", (user, signal) => user.review(plan, signal)],
  ];

  describe(`the user behind ${name}`, () => {
    it.each(asks)(
      "is asked for %s until that is taken away: then it is answered, and allows nothing",
      async (_, ask) => {
        const { user } = await make();
        const stop = new AbortController();
        const answer = ask(user, stop.signal);
        await wait(5);
        stop.abort();
        expect(await answer).not.toMatchObject({
          kind: expect.stringMatching(/^(once|always|answered|accepted)$/) as unknown,
        });
      },
    );

    it.each(asks)("is not asked for %s that was taken away before", async (_, ask) => {
      const { user } = await make();
      expect(await ask(user, AbortSignal.abort())).not.toMatchObject({
        kind: expect.stringMatching(/^(once|always|answered|accepted)$/) as unknown,
      });
    });

    it("says no to what is asked, also behind a question that was taken away", async () => {
      const { user, sayNo } = await make();
      await user.permission(permission, AbortSignal.abort());
      const answer = user.permission(permission, never);
      await wait(5);
      await sayNo?.();
      expect(await answer).toMatchObject({ kind: sayNo === undefined ? "nobody" : "denied" });
    });
  });
}

import { describe, expect, it } from "vitest";
import type { HookEvent, HookPayload, Hooks } from "../../packages/palimpsest/src/ports/hooks.ts";
import { sessionId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { skipped } from "./skipped.ts";

/** What a hook does. */
export type HookDoes = "says-nothing" | "blocks" | "speaks" | "fails" | "never-ends";

export interface HooksUnderTest {
  readonly name: string;
  /** One hook for each of these, whatever the event; in their order. */
  readonly make: (hooks: readonly HookDoes[]) => Hooks;
  /** Why there can be none. */
  readonly empty?: string;
}

const call: HookPayload = { name: "PreToolUse", tool: "bash", input: { command: "ls" }, toolUse: toolUseId("t1") };
const notice: HookPayload = { name: "Notification", type: "idle", message: "waiting" };
const prompt: HookPayload = { name: "UserPromptSubmit", prompt: "hello" };
const done: HookPayload = { ...call, name: "PostToolUse", response: "ok" };
const at = (moment: HookPayload): HookEvent => ({ session: sessionId("s1"), transcriptPath: "", cwd: "/", ...moment });
const never = new AbortController().signal;
const silent = { context: [], messages: [], warnings: [] };

/** The rules of the port. */
export function hooksContract({ name, make, empty }: HooksUnderTest): void {
  describe(`hooks: ${name}`, () => {
    it.each([call, notice, prompt, done])("say nothing where there is nobody to say it ($name)", async (moment) => {
      expect(await make([]).fire(at(moment), never)).toEqual(silent);
      expect(await make([]).fire(at(moment), AbortSignal.abort())).toEqual(silent);
    });

    describe.skipIf(empty)(`of which there are some${skipped(empty)}`, () => {
      it("say nothing where they have nothing to say", async () => {
        expect(await make(["says-nothing"]).fire(at(call), never)).toEqual(silent);
      });

      it("keep what is announced from happening, with the reason; one is enough", async () => {
        const outcome = await make(["says-nothing", "blocks", "speaks"]).fire(at(call), never);
        expect(outcome).toMatchObject({ blocked: { reason: "blocked" }, context: ["spoken"] });
        expect(outcome).not.toHaveProperty("permission");
      });

      it("can't block what can't be blocked: that is a warning", async () => {
        const outcome = await make(["blocks"]).fire(at(notice), never);
        expect(outcome).not.toHaveProperty("blocked");
        expect(outcome.warnings).toEqual([expect.stringContaining("blocked")]);
      });

      it("that fail are a warning, and the others count", async () => {
        const outcome = await make(["fails", "speaks"]).fire(at(call), never);
        expect(outcome).not.toHaveProperty("blocked");
        expect(outcome.context).toEqual(["spoken"]);
        expect(outcome.warnings).toEqual([expect.stringMatching(/\S/)]);
      });

      it("that are aborted keep from happening what they could have kept, and hang nobody", async () => {
        const stop = new AbortController();
        const waiting = make(["never-ends"]).fire(at(call), stop.signal);
        stop.abort();
        expect((await waiting).blocked?.reason).toMatch(/\S/);
        expect((await make(["never-ends"]).fire(at(call), AbortSignal.abort())).blocked?.reason).toMatch(/\S/);
      });

      it("that are aborted when all has happened block nothing", async () => {
        expect(await make(["never-ends"]).fire(at(done), AbortSignal.abort())).not.toHaveProperty("blocked");
      });
    });
  });
}

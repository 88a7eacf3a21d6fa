import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { served } from "./support/simulated.ts";

const model = "gpt-5.6";
const responder: Responder = {
  name: "answers",
  respond: () => ({ move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } }),
};

/** Estimated well, too low, and too high. */
const kinds = [
  ["prose", "what a user says is never cleared. "],
  ["dense code", "x=1;{a:2,b:[3]}&&(c||!d)? "],
  ["chinese", "数据库的连接已经断开了。"],
  ["numbers", "9f3a 77c1 0be4 "],
] as const;

describe("a window that a refusal named", () => {
  it.each(kinds.flatMap(([kind, words]) => [150, 500].map((times) => [kind, times, words] as const)))(
    "leaves room for the reply too, so that one refusal is enough: %s × %i",
    async (_, times, words) => {
      const { url } = await served({ responder, models: [{ id: model, windowTokens: 20_000 }] });
      const client = new OpenAI({ apiKey: "k", baseURL: `${url}/v1`, maxRetries: 0 });
      const context = await openContext({ model, provider: "openai-chat", contextTokens: 200_000 });
      let refusals = 0;
      for (let turn = 0; turn < 12; turn += 1) {
        await context.user(`Part ${turn}: ${words.repeat(times)}`);
        for (;;) {
          const { params } = await context.next();
          const asked = await client.chat.completions.create(params).catch((error: unknown) => ({ error }));
          if (!("error" in asked)) {
            await context.assistant(asked);
            break;
          }
          refusals += 1;
          expect(await context.refused(asked.error)).toMatchObject({ kind: "retry" });
        }
      }
      expect(refusals).toBeLessThanOrEqual(1);
      await context.close();
    },
  );
});

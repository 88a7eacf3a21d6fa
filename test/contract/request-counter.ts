import { describe, expect, it } from "vitest";
import type { TokenCounter } from "../../packages/palimpsest/src/ports/model-port.ts";
import type { CountableRequest } from "../../packages/palimpsest/src/tokens/fixed-part.ts";
import { skipped } from "./skipped.ts";

export interface CounterUnderTest {
  readonly name: string;
  readonly make: () => Promise<Pick<TokenCounter, "name" | "countRequest">>;
  /** One whose server is away; or why it has none. */
  readonly unreached: (() => Promise<Pick<TokenCounter, "name" | "countRequest">>) | string;
}

const small: CountableRequest = {
  system: ["You help."],
  tools: [],
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
};
const tool = { name: "read", description: "Reads a file. ".repeat(20), input_schema: { type: "object" } };

/** The rules of the port, for whoever counts a whole request. */
export function requestCounterContract({ name, make, unreached }: CounterUnderTest): void {
  const counted = async (request: CountableRequest): Promise<number> => {
    const count = await (await make()).countRequest(request);
    if (count.kind === "uncounted") throw new Error(count.message);
    return count.tokens;
  };

  describe(`the counter ${name}`, () => {
    it("goes by the same name each time it is made, and counts the same request alike", async () => {
      expect((await make()).name).toBe((await make()).name);
      expect(await counted(small)).toBe(await counted(small));
    });

    it("counts the system prompt, the tools and the messages", async () => {
      const base = await counted(small);
      expect(base).toBeGreaterThan(0);
      const system = [...small.system, "Be brief and exact. ".repeat(20)];
      expect(await counted({ ...small, system })).toBeGreaterThan(base + 50);
      expect(await counted({ ...small, tools: [tool] })).toBeGreaterThan(base + 50);
      const longer = { role: "user", content: [{ type: "text", text: "Look closely. ".repeat(30) }] } as const;
      expect(await counted({ ...small, messages: [longer] })).toBeGreaterThan(base + 50);
    });

    const local = typeof unreached === "string" ? unreached : undefined;
    it.skipIf(local)(`says what is wrong where it can't count, and does not reject${skipped(local)}`, async () => {
      const counter = typeof unreached === "function" ? await unreached() : undefined;
      expect(await counter?.countRequest(small)).toEqual({
        kind: "uncounted",
        message: expect.stringMatching(/\S/) as unknown,
      });
    });
  });
}

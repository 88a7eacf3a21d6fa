import { describe, expect, it } from "vitest";
import { openCounted } from "../../src/index.ts";
import type { LoopEvent } from "../../src/schema/event.ts";
import { requestTokens } from "../../src/schema/usage.ts";
import { Simulator } from "../../src/simulator/simulator.ts";
import { memoryBlobs } from "../../src/store/memory/blobs.ts";
import { loggingTool, testAgent } from "../fixture/agent.ts";
import { bytesOf, sourceOf } from "../fixture/log.ts";
import { openedForTest, testDeps } from "../fixture/session.ts";
import { playing, says } from "./support/simulated.ts";

/** The head of a picture of this size: what it takes follows from it. */
function png(width: number, height: number): string {
  const head = Buffer.alloc(60);
  head.writeUInt32BE(0x89504e47, 0);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString("base64");
}

const picture = (width: number, height: number) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data: png(width, height) },
});

const sentIn = (events: readonly LoopEvent[]): readonly number[] =>
  events.flatMap((one) => (one.kind === "request-start" ? [one.tokens] : []));
const countedIn = (events: readonly LoopEvent[]): readonly number[] =>
  events.flatMap((one) => (one.kind === "reply-end" && one.usage !== undefined ? [requestTokens(one.usage)] : []));

describe("14. Pictures", () => {
  it.each([
    [1_000, 800],
    [1_500, 1_500],
  ])("of %d × %d in a result are counted before the request that carries them", async (width, height) => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const look = loggingTool("look", {
      effect: "read",
      log: { runs: [], most: 0 },
      act: () => Promise.resolve({ content: [picture(width, height)], summary: "a picture" }),
    });
    const looks = [{ type: "tool_use", name: "look", input: {} }] as const;
    const simulator = new Simulator({ actor: playing(looks, looks, says("Seen.")) });
    const events = await testAgent({ deps, session, tools: [look], simulator }).turn("Look.");
    const [, ...sent] = sentIn(events);
    const [first = 0, ...counted] = countedIn(events);
    expect(counted.map((one, at) => one - ([first, ...counted][at] ?? 0) > 1_000)).toEqual([true, true]);
    for (const [at, tokens] of sent.entries()) expect(tokens / (counted[at] ?? 0)).toBeGreaterThan(0.95);
    // The meter is what the provider counted last, and its reply.
    expect(session.ledger.size.tokens).toBeGreaterThanOrEqual(counted.at(-1) ?? Infinity);
    expect(session.ledger.size.tokens).toBeLessThan((counted.at(-1) ?? 0) * 1.02);
  });

  it("in a message that nobody has counted are part of what is used, each with its share", async () => {
    const used = async (...content: readonly object[]): Promise<number> => {
      const log = bytesOf([JSON.stringify({ type: "user", uuid: "u", parentUuid: null, message: { content } })]);
      const opened = await openCounted({ blobs: memoryBlobs() }, { source: sourceOf(log), origin: "foreign" });
      return opened.ledger.size.tokens;
    };
    const text = { type: "text", text: "Look at these." };
    const [none, one, two] = [
      await used(text),
      await used(text, picture(1_500, 1_500)),
      await used(text, picture(1_500, 1_500), picture(1_500, 1_500)),
    ];
    expect(one - none).toBeGreaterThanOrEqual(1_600);
    expect(Math.abs(two - one - (one - none))).toBeLessThanOrEqual(1);
  });
});

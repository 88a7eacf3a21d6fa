import { describe, expect, it } from "vitest";
import { say, user } from "../../../../../test/fixture/session.ts";
import { clearingWorld } from "../../../../../test/scenario/support/clearing-world.ts";
import { openContext } from "../../open/open-context.ts";
import type { Store } from "../../ports/store.ts";
import { millis } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { memoryBlobs } from "../../store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../../store/memory/memory-transcripts.ts";
import { Rounds } from "../rounds.ts";
import { Replies } from "./replies.ts";

const model = "claude-sonnet-5-5";
const streamError = new Error("the connection was lost");

interface MessageEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One complete text block, and then an error. */
async function* brokenStream(usage: object): AsyncGenerator<MessageEvent> {
  yield { type: "message_start", message: { id: "msg_broken", model, content: [], usage } };
  yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
  yield { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I was about to" } };
  yield { type: "content_block_stop", index: 0 };
  throw streamError;
}

describe("a stream that throws", () => {
  it("is the cause of the store's error if its complete blocks can't be stored", async () => {
    let isFull = false;
    const faultAt = () => (isFull ? ({ why: "disk-full" } as const) : undefined);
    const transcripts = memoryTranscripts({ deps: { now: () => millis(0) }, faultAt });
    const store: Store = { open: async () => ({ kind: "open", transcripts, blobs: memoryBlobs() }) };
    const context = await openContext({ model, store });
    await context.user("Begin.");
    await context.next();
    isFull = true;
    const stream = brokenStream({ input_tokens: 100, output_tokens: 1 });
    await expect(context.assistantStream(stream)).rejects.toMatchObject({ code: "store", cause: streamError });
  });

  it("still reports a cache break that nothing explains", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", { flags: [["policy", "api"]] });
    await agent.turn(`Hello. ${"And so on. ".repeat(4_000)}`);
    await say(agent.session, user("And now?"));
    const events: LoopEvent[] = [];
    const drain = async <Result>(steps: AsyncGenerator<LoopEvent, Result> | Generator<LoopEvent, Result>) => {
      for (;;) {
        const step = await steps.next();
        if (step.done === true) return step.value;
        events.push(step.value);
      }
    };
    const { signal } = new AbortController();
    const rounds = new Rounds(agent, { signal });
    await drain(rounds.next());
    if (rounds.sent === undefined) throw new Error("no request");
    const replies = new Replies({ provider: "anthropic", deps: world.deps, drain, signal });
    const stream = brokenStream({ input_tokens: 3, cache_creation_input_tokens: 12_000, output_tokens: 1 });
    await expect(replies.stream(rounds.sent, stream)).rejects.toBe(streamError);
    expect(events.filter(({ kind }) => kind === "cache-break")).toHaveLength(1);
  });
});

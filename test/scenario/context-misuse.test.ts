import { describe, expect, it } from "vitest";
import { openContext } from "../../src/open/open-context.ts";
import type { Store } from "../../src/ports/store.ts";
import { millis } from "../../src/schema/brand.ts";
import { memoryBlobs } from "../../src/store/memory/blobs.ts";
import { memoryTranscripts } from "../../src/store/memory/transcripts.ts";

const model = "claude-sonnet-5-5";
const usage = { input_tokens: 5, output_tokens: 5 };
const calls = (id: string) => ({
  id,
  model,
  content: [{ type: "tool_use", id: "toolu_1", name: "read", input: {} }],
  stop_reason: "tool_use",
  usage,
});
const says = (id: string, text: string) => ({
  id,
  model,
  content: [{ type: "text", text }],
  stop_reason: "end_turn",
  usage,
});
const tools = [{ name: "read", input_schema: { type: "object" } }];

describe("a context", () => {
  it("goes on after a write that the store refused once", async () => {
    let isFull = false;
    const store: Store = {
      open: () =>
        Promise.resolve({
          kind: "open",
          transcripts: memoryTranscripts({
            deps: { now: () => millis(0) },
            faultAt: () => (isFull ? { why: "disk-full" } : undefined),
          }),
          blobs: memoryBlobs(),
        }),
    };
    const context = await openContext({ model, tools, store });
    await context.user("Begin.");
    await context.next();
    const [call] = await context.assistant(calls("msg_1"));
    isFull = true;
    await expect(context.toolResult(call?.id ?? "", "text")).rejects.toMatchObject({ code: "store" });
    isFull = false;
    await context.toolResult(call?.id ?? "", "text");
    expect(JSON.stringify((await context.next()).params.messages)).toContain('"text"');
    await context.close();
  });

  it("takes one reply for one request", async () => {
    const context = await openContext({ model });
    await context.user("Begin.");
    await context.next();
    await context.assistant(says("msg_1", "One."));
    await expect(context.assistant(says("msg_2", "Two."))).rejects.toMatchObject({ code: "no-request" });
    await context.close();
  });

  it("takes no result of a call that the user's next message left behind", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    const [call] = await context.assistant(calls("msg_1"));
    await context.user("Never mind.");
    await expect(context.toolResult(call?.id ?? "", "late")).rejects.toMatchObject({ code: "unknown-call" });
    await context.close();
  });

  it("tries again in the next turn, however often the last one failed", async () => {
    const context = await openContext({ model });
    await context.user("Begin.");
    await context.next();
    const overloaded = { status: 529, body: "" };
    for (let tries = 0; tries < 20; tries += 1) await context.refused(overloaded);
    expect(await context.refused(overloaded)).toMatchObject({ kind: "stop" });
    await context.user("Again.");
    await context.next();
    expect(await context.refused(overloaded)).toMatchObject({ kind: "retry" });
    await context.close();
  });

  it("knows its own errors from a provider's", async () => {
    const context = await openContext({ model, contextTokens: 2_000, system: "word ".repeat(4_000) });
    await context.user("Begin.");
    const error: unknown = await context.next().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "over-limit" });
    expect(await context.refused(error)).toMatchObject({ kind: "stop" });
    await context.close();
  });

  it("closes while a stream says nothing", async () => {
    const context = await openContext({ model });
    await context.user("Begin.");
    await context.next();
    async function* silent(): AsyncGenerator<{ type: string }> {
      yield { type: "ping" };
      await new Promise(() => undefined);
    }
    const taken = context.assistantStream(silent()).catch((error: unknown) => error);
    await context.close();
    expect(await taken).toMatchObject({ code: "broken-reply" });
  });

  it.each([
    ["model", { model: "" }],
    ["provider", { model, provider: "openai" }],
    ["policy", { model, policy: "x" }],
    ["contextTokens", { model, contextTokens: -5 }],
    ["session", { model, session: "../x" }],
  ])("names the option that is wrong: %s", async (name, options) => {
    const opening = openContext(options as unknown as Parameters<typeof openContext>[0]);
    await expect(opening).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringContaining(name) as string,
    });
  });

  it("refuses words that say nothing, and a pin on nothing", async () => {
    const context = await openContext({ model });
    await expect(context.user(" ")).rejects.toMatchObject({ code: "bad-option" });
    await expect(context.user([])).rejects.toMatchObject({ code: "bad-option" });
    await expect(context.pin("nothing")).rejects.toMatchObject({ code: "unknown-entry" });
    await context.close();
  });
});

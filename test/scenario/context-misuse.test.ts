import { describe, expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { Store } from "../../packages/palimpsest/src/ports/store.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";

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

  it("takes no object for a reply that is none", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    const stranger = { ...says("msg_1", ""), content: [{ hello: 1 }] };
    await expect(context.assistant(stranger)).rejects.toMatchObject({ code: "bad-option" });
    expect(await context.assistant(says("msg_1", "Done."))).toEqual([]);
  });

  it("tells an error of the caller's own code from one of the line", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    for (const mistake of [new TypeError("x is not a function"), undefined, "boo"])
      expect(await context.refused(mistake)).toMatchObject({ kind: "stop" });
    const unreachable = new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
    expect(await context.refused(unreachable)).toMatchObject({ kind: "retry" });
  });

  it("refuses tools that no provider takes", async () => {
    const schema = { type: "object" } as const;
    for (const wrong of [[{ name: "a b", input_schema: schema }], [...tools, ...tools]])
      await expect(openContext({ model, tools: wrong })).rejects.toMatchObject({ code: "bad-option" });
  });

  it("shows the model what it asked for, also where a result is as large as a small window", async () => {
    const log = Array.from({ length: 1_500 }, (_, n) => `line ${n}: gauge ${(7_919 + n * 104_729) % 9_973} mm`).join(
      "\n",
    );
    const system = "You read logs, line by line. ".repeat(800);
    const context = await openContext({ model, system, tools, contextTokens: 30_000 });
    await context.user("Which line has the largest gauge?");
    for (let round = 1; round <= 12; round += 1) {
      const { params, tokens } = await context.next();
      if (round > 1) expect(JSON.stringify(params.messages)).toContain("line 10:");
      const asked = { ...calls(`msg_${round}`), usage: { input_tokens: tokens, output_tokens: 20 } };
      const [call] = await context.assistant(asked);
      await context.toolResult(call?.id ?? "", log);
    }
  });
});

import { describe, expect, it } from "vitest";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { ContextOptions } from "../../packages/palimpsest/src/open/options.ts";
import type { Store } from "../../packages/palimpsest/src/ports/store.ts";
import type { OpenForWritingOutcome } from "../../packages/palimpsest/src/ports/transcripts.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";

const model = "claude-sonnet-5-5";
const tools = [{ name: "read", input_schema: { type: "object" as const } }];
const usage = { input_tokens: 20_000, output_tokens: 10 };

interface SaidBlock {
  readonly type: "text" | "tool_use";
  readonly text?: string;
  readonly id?: string;
}

const blockOf = ({ type, text = "", id = "" }: SaidBlock): object =>
  type === "text" ? { type, text } : { type, id, name: "read", input: { path: "a" } };

let replies = 0;
const replyOf = (...said: readonly SaidBlock[]) => {
  replies += 1;
  const stop = said.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return { id: `msg_${replies}`, model, content: said.map(blockOf), stop_reason: stop, usage };
};

/** With whatever else it has. */
const block = (one: { readonly type: string; readonly [field: string]: unknown }): { readonly type: string } => one;

/** The events of a reply, as the Messages API streams them. */
function* eventsOf(...said: readonly SaidBlock[]): Generator<{ readonly type: string }> {
  const { content: _, stop_reason, ...message } = replyOf(...said);
  yield block({ type: "message_start", message: { ...message, content: [] } });
  for (const [index, one] of said.entries()) {
    const isText = one.type === "text";
    const begun = isText ? { type: "text", text: "" } : { ...blockOf(one), input: {} };
    yield block({ type: "content_block_start", index, content_block: begun });
    const delta = isText ? { type: "text_delta", text: one.text } : { type: "input_json_delta", partial_json: "{}" };
    yield block({ type: "content_block_delta", index, delta });
    yield block({ type: "content_block_stop", index });
  }
  yield block({ type: "message_delta", delta: { stop_reason }, usage });
  yield { type: "message_stop" };
}

/** Ends in an error behind the last whole block. */
async function* broken(...said: readonly SaidBlock[]): AsyncGenerator<{ readonly type: string }> {
  for (const event of eventsOf(...said)) {
    if (event.type === "message_delta") throw new Error("the line went dead");
    yield event;
  }
}

async function* streamed(...said: readonly SaidBlock[]): AsyncGenerator<{ readonly type: string }> {
  yield* eventsOf(...said);
}

const textIn = (params: { readonly messages: readonly object[] }): string => JSON.stringify(params.messages);

/** Some rounds, and then a reply that breaks off behind these blocks. */
async function brokenContext(
  options: Partial<ContextOptions>,
  ...said: readonly SaidBlock[]
): Promise<Context<"anthropic">> {
  const context = await openContext({ model, tools, ...options });
  for (let turn = 1; turn <= 3; turn += 1) {
    await context.user(`Part ${turn}: look closely.`);
    await context.next();
    await context.assistant(replyOf({ type: "text", text: `Answer ${turn}. ${"It is so. ".repeat(2_000)}` }));
  }
  await context.user("And now?");
  await context.next();
  await expect(context.assistantStream(broken(...said))).rejects.toThrow("the line went dead");
  return context;
}

const partial = { type: "text", text: "I was about to" } as const;

describe("behind a reply that broke off", () => {
  it("another model or other tools are in the next request, without what came of the reply", async () => {
    const context = await brokenContext({}, partial);
    expect(await context.refused(new Error("the line went dead"))).toMatchObject({ kind: "retry" });
    await context.setModel("claude-haiku-4-5");
    await context.setTools([]);
    const { params } = await context.next();
    expect(params.model).toBe("claude-haiku-4-5");
    expect(params.tools ?? []).toEqual([]);
    expect(textIn(params)).not.toContain(partial.text);
    await context.assistant(replyOf({ type: "text", text: "Done." }));
    expect(context.costs().byModel).toHaveProperty("claude-haiku-4-5");
  });

  it("a compaction counts, and its receipt stays", async () => {
    const context = await brokenContext({}, partial);
    expect(await context.compact()).toMatchObject({ kind: "compacted" });
    const { params } = await context.next();
    expect(textIn(params).length).toBeLessThan(20_000);
    await context.assistant(replyOf({ type: "text", text: "Done." }));
    expect(context.receipts().filter(({ kind }) => kind === "boundary")).toHaveLength(1);
    await context.user("Go on.");
    expect((await context.next()).params.messages.length).toBeLessThan(8);
  });

  it("an undo counts", async () => {
    const context = await brokenContext({}, partial);
    await context.compact();
    const short = (await context.next()).params.messages.length;
    await expect(context.assistantStream(broken(partial))).rejects.toThrow("went dead");
    expect(await context.undo()).toMatchObject({ kind: "undone" });
    expect((await context.next()).params.messages.length).toBeGreaterThan(short);
  });

  it("a refusal that the ladder answers gives a request that can be sent", async () => {
    const context = await openContext({ model, tools });
    await context.user([
      block({ type: "text", text: "Look." }),
      block({ type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } }),
    ]);
    await context.next();
    await expect(context.assistantStream(broken(partial))).rejects.toThrow("went dead");
    const body = { type: "error", error: { type: "invalid_request_error", message: "Could not process image" } };
    expect(await context.refused({ status: 400, body })).toMatchObject({ kind: "retry" });
    const { params } = await context.next();
    expect(textIn(params)).not.toContain("base64");
    expect(textIn(params)).not.toContain(partial.text);
  });

  it("a reminder closes the calls that came of it", async () => {
    const context = await brokenContext({}, { type: "tool_use", id: "toolu_x" }, partial);
    await context.reminder("It is late.");
    const { params } = await context.next();
    expect(textIn(params)).toContain("It is late.");
    expect(await context.assistant(replyOf({ type: "text", text: "Yes." }))).toEqual([]);
  });

  it("one reply is paid for once, also where the store refuses its last word", async () => {
    const store = failing();
    const context = await openContext({ model, tools, store });
    await context.user("Begin.");
    await context.next();
    store.failAt("end of turn");
    await expect(context.assistantStream(streamed({ type: "text", text: "Done." }))).rejects.toMatchObject({
      code: "store",
    });
    expect(context.costs().session.requests).toBe(1);
  });
});

describe("a reply that the store refused", () => {
  it.each([1, 2, 3])("is taken whole by the second try, where the first failed at write %i", async (write) => {
    const store = failing();
    const context = await openContext({ model, tools, store });
    await context.user("Begin.");
    await context.next();
    const reply = replyOf(
      { type: "text", text: "I look." },
      { type: "tool_use", id: "toolu_1" },
      { type: "tool_use", id: "toolu_2" },
    );
    store.failAt(write);
    await expect(context.assistant(reply)).rejects.toMatchObject({ code: "store" });
    const calls = await context.assistant(reply);
    expect(calls).toHaveLength(2);
    for (const { id } of calls) await context.toolResult(id, "found");
    const { params } = await context.next();
    expect(textIn(params).split("I look.")).toHaveLength(2);
    expect(textIn(params).split('"tool_use"')).toHaveLength(3);
  });
});

describe("between the calls of a reply", () => {
  it("a result that is none is refused, and the others are taken", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    const calls = await context.assistant(
      replyOf({ type: "tool_use", id: "toolu_a" }, { type: "tool_use", id: "toolu_b" }),
    );
    const [first, second] = calls;
    const none = [block({ type: "thinking" })];
    await expect(context.toolResult(first?.id ?? "", none)).rejects.toMatchObject({
      code: "bad-option",
    });
    await context.toolResult(first?.id ?? "", "one");
    await context.toolResult(second?.id ?? "", [block({ type: "text", text: "two" })]);
    expect(textIn((await context.next()).params)).toMatch(/one.*two/);
  });

  it("nothing is compacted: their results would not be seen", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    const [call] = await context.assistant(replyOf({ type: "tool_use", id: "toolu_a" }));
    expect(await context.compact()).toMatchObject({ kind: "failed", reason: "open-calls" });
    await context.toolResult(call?.id ?? "", "NINENINE");
    expect(textIn((await context.next()).params)).toContain("NINENINE");
  });

  it("a reply is booked to the model that was asked", async () => {
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    await context.next();
    await context.setModel("claude-haiku-4-5");
    await context.assistant(replyOf({ type: "text", text: "Done." }));
    expect(Object.keys(context.costs().byModel)).toEqual([model]);
  });
});

describe("the cache", () => {
  it("is told to be lost where the tools change", async () => {
    const breaks: string[] = [];
    const context = await openContext({
      model,
      tools,
      onEvent: (event) => {
        if (event.kind === "cache-break") breaks.push(event.cause);
      },
    });
    await context.user("Begin.");
    await context.next();
    await context.assistant(replyOf({ type: "text", text: "Done." }));
    await context.setTools([...tools, { name: "write", input_schema: { type: "object" } }]);
    await context.user("Go on.");
    await context.next();
    expect(breaks.join()).toContain("write");
  });
});

describe("who waits is let go", () => {
  it("by its signal, where a summarizer never answers; and close() waits for nobody", async () => {
    const context = await brokenContext({ summarizer: () => new Promise<never>(() => {}) }, partial);
    const given = AbortSignal.timeout(100);
    await expect(context.compact({ signal: given })).rejects.toMatchObject({ code: "aborted" });
    await context.close();
  });

  it("a preview ends with the event that closes it", async () => {
    const kinds: string[] = [];
    const context = await brokenContext({ onEvent: ({ kind }) => kinds.push(kind) }, partial);
    expect(await context.compact({ preview: true })).toMatchObject({ kind: "preview" });
    expect(kinds.findLast((kind) => kind.startsWith("compaction"))).toBe("compaction-failed");
  });
});

describe("OpenAI's responses", () => {
  const failedResponse = {
    id: "resp_1",
    model: "gpt-5.6",
    status: "failed",
    output: [],
    error: { code: "context_length_exceeded", message: "Your input exceeds the context window of this model." },
  };

  it("a response that failed is no answer, and its code tells what to do", async () => {
    const context = await openContext({ model: "gpt-5.6", provider: "openai-responses", tools, contextTokens: 30_000 });
    await context.user("Begin.");
    await context.next();
    await context.assistant({
      id: "resp_0",
      model: "gpt-5.6",
      output: [{ type: "message", content: [{ type: "output_text", text: "Well. ".repeat(3_000) }] }],
    });
    await context.user("Go on.");
    await context.next();
    const error: unknown = await context.assistant(failedResponse).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "broken-reply", failure: { why: "too-long" } });
    expect(await context.refused(error)).toMatchObject({ kind: "retry" });
    expect(context.receipts().some(({ kind }) => kind === "boundary")).toBe(true);
  });
});

interface FailingStore extends Store {
  /** The write with this number from now on is refused, once; or the next end of a turn. */
  failAt(at: number | "end of turn"): void;
}

function failing(): FailingStore {
  const full = { kind: "failed", why: "disk-full", message: "The disk is full." } as const;
  let writesLeft = Infinity;
  let endsRefused = 0;
  const transcripts = memoryTranscripts({
    deps: { now: () => millis(0) },
    faultAt: () => {
      writesLeft -= 1;
      return writesLeft === 0 ? { why: "disk-full" } : undefined;
    },
  });
  const refusing = (opened: OpenForWritingOutcome): OpenForWritingOutcome =>
    opened.kind !== "open"
      ? opened
      : {
          ...opened,
          writer: {
            id: opened.writer.id,
            append: (lines) => opened.writer.append(lines),
            blank: (ranges) => opened.writer.blank(ranges),
            close: () => opened.writer.close(),
            discard: () => opened.writer.discard(),
            endTurn: () => (endsRefused-- > 0 ? Promise.resolve(full) : opened.writer.endTurn()),
          },
        };
  return {
    failAt: (at) => {
      if (at === "end of turn") endsRefused = 1;
      else writesLeft = at;
    },
    open: () =>
      Promise.resolve({
        kind: "open",
        blobs: memoryBlobs(),
        transcripts: {
          create: async (id) => refusing(await transcripts.create(id)),
          openForWriting: async (id) => refusing(await transcripts.openForWriting(id)),
          openForReading: (id) => transcripts.openForReading(id),
          adopt: (copy) => transcripts.adopt(copy),
        },
      }),
  };
}

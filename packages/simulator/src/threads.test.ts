import { describe, expect, it } from "vitest";
import { Asking, longText, type Replied } from "../../../test/fixture/asking.ts";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply-message";
import { StreamBroken } from "./answer.ts";
import type { Responder } from "./responder/responder.ts";
import { threadMillisMax } from "./limits.ts";
import { Simulator } from "./simulator.ts";
import { TraceWriter } from "./trace/trace-writer.ts";
import { Threads } from "./threads.ts";

const beta = { "anthropic-beta": "message-threads-2026-08-12" };
const create = { thread: { type: "create" } };
const going = (id: string): JsonObject => ({ thread: { type: "continue", previous_message_id: id } });
const asks = (content: Json): JsonObject => ({ role: "user", content });
const marked = (text: string): Json => [{ type: "text", text, cache_control: { type: "ephemeral" } }];
const answered = ({ content }: ReplyMessage): JsonObject => ({
  role: "assistant",
  content,
});

const base = {
  model: "claude-opus-5",
  system: longText("the rule"),
  tools: [{ name: "look", input_schema: { type: "object" } }],
} as const;
/** What a continuing request still says. */
const again = { model: base.model };

const asking = (options: ConstructorParameters<typeof Simulator>[0] = {}): Asking => new Asking(new Simulator(options));
const codeOf = (replied: Replied): string =>
  replied.kind === "error" ? `${replied.status} ${String(replied.body.error.details?.error_code)}` : "answered";

describe("a thread", () => {
  it("is read, cached and billed like the whole conversation", async () => {
    const [threaded, plain] = [asking(), asking()];
    const history: JsonObject[] = [];
    let id: string | undefined;
    for (const words of ["first", "second", "third"]) {
      const next = asks(marked(longText(words)));
      const sent = id === undefined ? { ...base, ...create } : { ...again, ...going(id) };
      const one = await threaded.reply({ ...sent, messages: [next] }, beta);
      const other = await plain.reply({ ...base, messages: [...history, next] }, beta);
      if (one.kind === "error" || other.kind === "error") throw new Error("refused");
      expect(one).toEqual(other);
      history.push(asks(longText(words)), answered(one.message));
      id = one.message.id;
    }
    expect(history).toHaveLength(6);
  });

  it("shows the model the whole conversation, with its tools and system prompt", async () => {
    const shown: string[] = [];
    const responder: Responder = {
      name: "looks",
      respond: ({ request }) => {
        shown.push(JSON.stringify([request.system, request.tools, request.messages]));
        return { move: { kind: "say", blocks: [{ type: "text", text: "I see." }] } };
      },
    };
    const asked = asking({ responder });
    const first = await asked.message({ ...base, ...create, messages: [asks("One.")] }, beta);
    await asked.message({ ...again, ...going(first.id), messages: [asks("Two.")] }, beta);
    const whole = [asks("One."), answered(first), asks("Two.")];
    expect(shown[1]).toBe(JSON.stringify([base.system, base.tools, whole]));
  });

  it("holds more marked messages than one request may: what was answered is marked no more", async () => {
    const asked = asking();
    let { id } = await asked.message({ ...base, ...create, messages: [asks(marked("0"))] }, beta);
    for (const words of ["1", "2", "3", "4", "5"])
      ({ id } = await asked.message({ ...again, ...going(id), messages: [asks(marked(words))] }, beta));
    expect(id).toMatch(/^msg_/);
  });

  it("holds no markers of definitions and of parts of results either", async () => {
    const betas = { "anthropic-beta": `${beta["anthropic-beta"]},inline-tools-2026-09-15` };
    const call = { type: "tool_use", name: "look", input: {} } as const;
    const asked = asking({ responder: { name: "calls", respond: () => ({ move: { kind: "say", blocks: [call] } }) } });
    const callIn = ({ content: [said] }: ReplyMessage): string => (said?.type === "tool_use" ? said.id : "");
    let reply = await asked.message({ ...base, ...create, messages: [asks("0")] }, betas);
    for (const name of ["a", "b", "c", "d"]) {
      const definition = { name, input_schema: { type: "object" }, cache_control: { type: "ephemeral" } };
      const addition = { type: "tool_addition", tool: { type: "tool_definition", definition } };
      const result = { type: "tool_result", tool_use_id: callIn(reply), content: marked("Seen.") };
      const messages = [asks([result]), { role: "system", content: [addition] }];
      reply = await asked.message({ ...again, ...going(reply.id), messages }, betas);
    }
    expect(reply.stop_reason).toBe("tool_use");
  });

  it("works over streams, and can be gone on with as soon as the last event is read", async () => {
    const asked = asking();
    const answer = await asked.answer({ ...base, ...create, messages: [asks("One.")], stream: true }, beta);
    if (answer.kind !== "stream") throw new Error(answer.kind);
    let id = "";
    for await (const sent of answer.events) {
      if (sent.kind !== "event") continue;
      if (sent.event.type === "message_start") ({ id } = sent.event.message);
      if (sent.event.type !== "message_stop") continue;
      expect(codeOf(await asked.reply({ ...again, ...going(id), messages: [asks("Two.")] }, beta))).toBe("answered");
    }
  });

  it("is unknown without its beta", async () => {
    expect(await asking().refusal({ ...base, ...create, messages: [asks("One.")] })).toBe(
      "400 thread: Extra inputs are not permitted",
    );
  });

  it("of a wrong form is refused as such", async () => {
    const wrong = { ...base, thread: { type: "continue" }, messages: [asks("One.")] };
    expect(await asking().refusal(wrong, beta)).toContain("400 thread.previous_message_id: Field required");
  });
});

describe("going on from a reply", () => {
  const begun = async (asked: Asking): Promise<string> =>
    (await asked.message({ ...base, ...create, messages: [asks("One.")] }, beta)).id;
  const next = (id: string, more: JsonObject = {}): JsonObject => ({
    ...again,
    ...going(id),
    messages: [asks("Two.")],
    ...more,
  });

  it("that nobody gave is refused", async () => {
    expect(codeOf(await asking().reply(next("msg_none"), beta))).toBe("404 thread_not_found");
  });

  it("that was given without a thread is refused", async () => {
    const asked = asking();
    const { id } = await asked.message({ ...base, messages: [asks("One.")] }, beta);
    expect(codeOf(await asked.reply(next(id), beta))).toBe("404 thread_not_found");
  });

  it("of another workspace is refused", async () => {
    const asked = asking();
    const id = await begun(asked);
    const elsewhere = { ...beta, "anthropic-workspace-id": "wrkspc_other" };
    expect(codeOf(await asked.reply(next(id), elsewhere))).toBe("404 thread_not_found");
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });

  it("works for five minutes and not a moment longer", async () => {
    const asked = asking();
    const [one, two] = [await begun(asked), await begun(asked)];
    asked.simulator.clock.advance(millis(threadMillisMax - 1));
    expect(codeOf(await asked.reply(next(one), beta))).toBe("answered");
    asked.simulator.clock.advance(millis(1));
    expect(codeOf(await asked.reply(next(two), beta))).toBe("404 thread_not_found");
  });

  it("counts its five minutes from the last request that went on from it, also from one that failed", async () => {
    const asked = asking();
    const id = await begun(asked);
    for (let tries = 0; tries < 3; tries += 1) {
      asked.simulator.clock.advance(millis(threadMillisMax - 1));
      expect(await asked.refusal(next(id, { messages: [asks("")] }), beta)).toContain("400");
    }
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });

  it("happens once", async () => {
    const asked = asking();
    const id = await begun(asked);
    await asked.message(next(id), beta);
    expect(codeOf(await asked.reply(next(id), beta))).toBe("400 thread_already_continued");
  });

  it("counts its five minutes anew with a request that does not go on from it, too", async () => {
    const asked = asking();
    const id = await begun(asked);
    for (let tries = 0; tries < 3; tries += 1) {
      asked.simulator.clock.advance(millis(threadMillisMax - 1));
      const other = next(id, { model: "claude-opus-4-8" });
      expect(codeOf(await asked.reply(other, beta))).toBe("400 thread_fingerprint_mismatch");
    }
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });

  it("is refused while another request does, however long that takes", async () => {
    let release = (): void => undefined;
    const waits: Responder = {
      name: "waits",
      respond: async ({ request }) => {
        if (request.messages.length > 1) await new Promise<void>((done) => (release = done));
        return { move: { kind: "say", blocks: [{ type: "text", text: "Yes." }] } };
      },
    };
    const asked = asking({ responder: waits });
    const id = await begun(asked);
    const first = asked.reply(next(id), beta);
    asked.simulator.clock.advance(threadMillisMax);
    expect(codeOf(await asked.reply(next(id), beta))).toBe("400 thread_continue_in_flight");
    release();
    expect(codeOf(await first)).toBe("answered");
    expect(codeOf(await asked.reply(next(id), beta))).toBe("400 thread_already_continued");
  });

  it("names every field that must be the same and is not", async () => {
    const asked = asking();
    const id = await begun(asked);
    const tools = [{ name: "other", input_schema: { type: "object" } }];
    const replied = await asked.reply(next(id, { model: "claude-opus-4-8", system: "Other.", tools }), beta);
    expect(codeOf(replied)).toBe("400 thread_fingerprint_mismatch");
    expect(JSON.stringify(replied)).toContain("`model`, `system`, `tools`");
    expect(codeOf(await asked.reply(next(id, { max_tokens: 7, temperature: 1 }), beta))).toBe("answered");
  });

  it.each([
    ["speed", "fast"],
    ["inference_geo", "us"],
  ])("needs the same %s", async (name, value) => {
    const asked = asking();
    const replied = await asked.reply(next(await begun(asked), { [name]: value }), beta);
    expect(codeOf(replied)).toBe("400 thread_fingerprint_mismatch");
    expect(JSON.stringify(replied)).toContain(`holds: \`${name}\``);
  });

  it.each<[string, JsonObject]>([
    ["a default that is spelled out", { speed: "standard" }],
    ["no tools, as an empty list", { tools: [] }],
    ["no system prompt, as null", { system: null }],
  ])("takes %s for the same", async (_what, more) => {
    const asked = asking();
    expect(codeOf(await asked.reply(next(await begun(asked), more), beta))).toBe("answered");
  });

  it("tells held tools by their fields, not by the order of these", async () => {
    const asked = asking();
    const tools = [{ input_schema: { type: "object" }, name: "look" }];
    expect(await asked.refusal(next(await begun(asked), { tools }), beta)).toBe(
      "400 tools: the thread holds it: leave it out when continuing",
    );
  });

  it("repeats nothing that the thread holds", async () => {
    const asked = asking();
    const id = await begun(asked);
    expect(await asked.refusal(next(id, { system: base.system }), beta)).toBe(
      "400 system: the thread holds it: leave it out when continuing",
    );
  });

  it.each([
    ["is broken off", { stream: true }, { "x-simulator-fault": "break after=3" }],
    ["is cut", {}, { "x-simulator-fault": "break after=1" }],
    ["fails", {}, { "x-simulator-fault": "overloaded" }],
    ["breaks a rule", { temperature: 0.5, top_k: -1 }, {}],
  ])("is still possible where the reply %s", async (_what, more, headers) => {
    const asked = asking();
    const id = await begun(asked);
    const answer = await asked.answer(next(id, more), { ...beta, ...headers });
    if (answer.kind === "stream") await expect(drained(answer.events)).rejects.toThrow(StreamBroken);
    else expect(answer).not.toMatchObject({ kind: "body", status: 200 });
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });

  it("is still possible where only the last event of the reply did not arrive", async () => {
    const asked = asking();
    const events = await asked.stream(next(await begun(asked)), beta);
    expect(events.at(-1)).toMatchObject({ event: { type: "message_stop" } });
    const id = await begun(asked);
    const fault = { "x-simulator-fault": `break after=${events.length - 1}` };
    await expect(asked.stream(next(id), { ...beta, ...fault })).rejects.toThrow(StreamBroken);
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });

  it("is still possible where the responder fails or the model refuses", async () => {
    let replies = 0;
    const responder: Responder = {
      name: "moody",
      respond: () => {
        replies += 1;
        if (replies === 2) throw new Error("no mood");
        const stop = replies === 3 ? ({ stop: "refusal" } as const) : {};
        return { move: { kind: "say", blocks: [{ type: "text", text: "So." }], ...stop } };
      },
    };
    const asked = asking({ responder });
    const id = await begun(asked);
    expect(codeOf(await asked.reply(next(id), beta))).toContain("500");
    const refused = await asked.message(next(id), beta);
    expect(codeOf(await asked.reply(next(refused.id), beta))).toBe("404 thread_not_found");
    expect(codeOf(await asked.reply(next(id), beta))).toBe("answered");
  });
});

describe("a request that can't be threaded", () => {
  it.each([
    ["cache_control", { cache_control: { type: "ephemeral" } }],
    ["context_management", { context_management: { edits: [] } }],
    ["thinking", { thinking: { type: "adaptive" } }],
  ])("says so: %s", async (name, field) => {
    const headers = { "anthropic-beta": `${beta["anthropic-beta"]},context-management-2025-06-27` };
    const replied = await asking().reply({ ...base, ...create, ...field, messages: [asks("One.")] }, headers);
    expect(replied).toMatchObject({
      status: 400,
      body: { error: { details: { error_code: "thread_unsupported_request", unsupported: [name] } } },
    });
  });

  it("is not one whose thinking is off", async () => {
    const request = { ...base, ...create, thinking: { type: "disabled" }, messages: [asks("One.")] };
    expect(codeOf(await asking().reply(request, beta))).toBe("answered");
  });
});

it("a trace has a continuing request's parameters as they were sent and its blocks as they were read, also where it failed", async () => {
  const lines: JsonObject[] = [];
  const write = (line: string): Promise<void> => Promise.resolve(void lines.push(JSON.parse(line) as JsonObject));
  const asked = asking({ trace: new TraceWriter({ write }) });
  const { id } = await asked.message({ ...again, ...create, messages: [asks("One.")] }, beta);
  const next = { ...again, ...going(id), messages: [asks("Two.")] };
  await asked.reply(next, { ...beta, "x-simulator-fault": "overloaded" });
  await asked.message(next, beta);
  const [, ...continued] = lines.filter(({ type }) => type === "request");
  expect(continued.map(({ params }) => (params as JsonObject)["thread"])).toEqual([
    going(id)["thread"],
    going(id)["thread"],
  ]);
  const texts = lines.filter(({ type }) => type === "block").map(({ value }) => (value as { text: string }).text);
  expect(texts).toEqual(["One.", expect.stringContaining("One.") as string, "Two."]);
});

/** A reply as any simulator gives it. */
const reply = await asking().message({ ...again, messages: [asks("Hello.")] });

describe("what is held", () => {
  const call = (body: JsonObject) => ({ body, workspace: "w", betas: new Set([beta["anthropic-beta"]]) });
  const said = (id: string): ReplyMessage => ({ ...reply, id });
  const started = (threads: Threads, id: string): void => {
    const opened = threads.open(call({ ...base, ...create, messages: [asks("One.")] }));
    if (opened.kind === "whole") opened.turn?.settle(said(id));
  };
  const isHeld = (threads: Threads, id: string): boolean =>
    threads.preview(call({ ...again, ...going(id), messages: [] }))["system"] !== undefined;
  const now = (): Millis => millis(0);

  it("is the newest threads: of more than the limit the oldest go", () => {
    const threads = new Threads(now, { threadsMax: 2, charsMax: 1_000_000 });
    for (const id of ["a", "b", "c"]) started(threads, id);
    expect(["a", "b", "c"].map((id) => isHeld(threads, id))).toEqual([false, true, true]);
  });

  it("is no more than there is room for, and a continued thread takes none", () => {
    const threads = new Threads(now, { threadsMax: 10, charsMax: 2 * JSON.stringify(base).length + 1_000 });
    started(threads, "a");
    for (let turn = 0; turn < 5; turn += 1) {
      const from = turn === 0 ? "a" : `a${turn}`;
      const opened = threads.open(call({ ...again, ...going(from), messages: [asks("On.")] }));
      if (opened.kind === "whole") opened.turn?.settle(said(`a${turn + 1}`));
    }
    started(threads, "b");
    expect(["a5", "b"].map((id) => isHeld(threads, id))).toEqual([true, true]);
    started(threads, "c");
    expect(["a5", "b", "c"].map((id) => isHeld(threads, id))).toEqual([false, true, true]);
  });

  const summary = (id: string, content: string | null): ReplyMessage => ({
    ...said(id),
    content: [{ type: "compaction", content, encrypted_content: null }],
  });
  const summedUp = (threads: Threads, reply: ReplyMessage): readonly Json[] => {
    started(threads, "a");
    const body = { ...again, ...going("a"), compaction: { type: "summarize" }, messages: [asks("Two.")] };
    const opened = threads.open(call(body));
    if (opened.kind === "whole") opened.turn?.settle(reply);
    const whole = threads.preview(call({ ...again, ...going(reply.id), messages: [asks("On.")] }));
    return whole["messages"] as readonly Json[];
  };

  it("of a conversation that was summed up is its summary", () => {
    const reply = summary("sum", "So far.");
    expect(summedUp(new Threads(now), reply)).toEqual([answered(reply), asks("On.")]);
  });

  it("of a conversation that could not be summed up is the conversation", () => {
    const messages = summedUp(new Threads(now), summary("sum", null));
    expect(messages).toEqual([asks("One."), answered(said("a")), asks("Two."), asks("On.")]);
  });

  it("takes no more room for all that was summed up", () => {
    const long = asks("y".repeat(3_000));
    const threads = new Threads(now, { threadsMax: 100, charsMax: JSON.stringify(base).length + 20_000 });
    started(threads, "a");
    let id = "a";
    for (let turn = 0; turn < 30; turn += 1) {
      const isSummed = turn % 2 === 1;
      const body = { ...again, ...going(id), messages: [long] };
      const opened = threads.open(call(isSummed ? { ...body, compaction: { type: "summarize" } } : body));
      id = `a${turn}`;
      if (opened.kind === "whole") opened.turn?.settle(isSummed ? summary(id, "So far.") : said(id));
    }
    expect(isHeld(threads, id)).toBe(true);
  });
});

async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

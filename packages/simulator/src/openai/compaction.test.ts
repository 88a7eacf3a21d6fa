import { describe, expect, it } from "vitest";
import { bearer, item, openaiFace, outputOf, type Path, respond, user } from "../../../../test/fixture/openai-api.ts";
import { says } from "../../../../test/scenario/support/simulated.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { Responder, MoveBlock, PlannedReply } from "../responder/responder.ts";
import { TraceWriter } from "../trace/trace-writer.ts";

const history: readonly JsonObject[] = [
  { role: "user", content: `Build the harbour. ${"stone ".repeat(1_500)}` },
  { role: "assistant", content: "Built." },
  { role: "user", content: "And the light?" },
];
const over = (more: JsonObject = {}): JsonObject =>
  respond({ input: history, context_management: [{ type: "compaction", compact_threshold: 1_000 }], ...more });

interface Recorded {
  readonly responder: Responder;
  /** What was asked, and how each reply ended. */
  readonly log: string[];
}

/** `summary` is what becomes of the reply for a compaction. */
function recording(summary: Partial<PlannedReply> = {}, reply: readonly MoveBlock[] = says("Lit.")): Recorded {
  const log: string[] = [];
  const responder: Responder = {
    name: "recording",
    respond: ({ purpose }) => {
      log.push(purpose);
      const blocks = purpose === "compaction" ? says("<summary>The harbour is built.</summary>") : reply;
      return {
        move: { kind: "say", blocks },
        delivered: () => void log.push(`${purpose} delivered`),
        lost: () => void log.push(`${purpose} lost`),
        ...(purpose === "compaction" ? summary : {}),
      };
    },
  };
  return { responder, log };
}

describe("a summary is asked for as a reply is", () => {
  it("the responder's fault befalls it", async () => {
    const { responder, log } = recording({ fault: { kind: "server-error" } });
    expect(await openaiFace({ responder }).ask("responses", over())).toMatchObject({ status: 500 });
    expect(log).toEqual(["compaction", "compaction lost"]);
  });

  it("a reply that can't be made is lost, and so is the summary before it", async () => {
    const { responder, log } = recording({}, [{ type: "text", text: 7 as unknown as string }]);
    expect(await openaiFace({ responder }).ask("responses", over())).toMatchObject({ status: 500 });
    expect(log).toEqual(["compaction", "reply", "compaction lost", "reply lost"]);
  });

  it("a responder that returns nothing loses the summary before it", async () => {
    const { responder, log } = recording();
    const silent: Responder = {
      name: "silent",
      respond: (input) =>
        input.purpose === "compaction" ? responder.respond(input) : (undefined as unknown as PlannedReply),
    };
    const answer = await openaiFace({ responder: silent }).ask("responses", over());
    expect(answer).toMatchObject({ status: 500 });
    expect(log).toEqual(["compaction", "compaction lost"]);
  });

  it("the responder's wait is waited for", async () => {
    const { responder } = recording({ move: { kind: "say", blocks: says("Built."), delayMs: millis(5_000) } });
    const { ask, simulator } = openaiFace({ responder });
    const before = simulator.clock.now();
    await ask("compact", { model: "gpt-5.6-sol", input: [...history] });
    expect(simulator.clock.now() - before).toBe(5_000);
  });

  it("who is gone is asked no further, and the summary is not spent", async () => {
    const leave = new AbortController();
    const { responder, log } = recording();
    const { simulator } = openaiFace({
      responder: {
        name: "leaving",
        respond: (input) => {
          leave.abort();
          return responder.respond(input);
        },
      },
    });
    const answer = await simulator.openai.responses({
      body: over(),
      headers: new Headers(bearer),
      signal: leave.signal,
    });
    expect(answer.kind).toBe("dropped");
    expect(log).toEqual(["compaction", "compaction lost"]);
  });

  it("a body that is cut has not arrived", async () => {
    const { responder, log } = recording();
    const { simulator } = openaiFace({ responder });
    for (const path of ["compact", "responses"] as const) {
      log.length = 0;
      const answer = await simulator.openai[path]({
        body: path === "compact" ? { model: "gpt-5.6-sol", input: [...history] } : respond(),
        headers: new Headers({ ...bearer, "x-simulator-fault": "break after=1" }),
      });
      expect(answer.kind).toBe("cut");
      expect(log.at(-1)).toMatch(/ lost$/);
    }
  });

  it.each([
    ["over the threshold", over()],
    ["with a trigger", respond({ input: [...history, item("compaction_trigger", {})] })],
  ])("prewarming asks nobody, also %s", async (_, body) => {
    const { responder, log } = recording();
    const warming = { ...body, prompt_cache_options: { prewarm: true } };
    const told = await openaiFace({ responder }).ask("responses", warming);
    expect(told.body).toMatchObject({ output: [], usage: { output_tokens: 0 } });
    expect(log).toEqual([]);
  });

  it("no summary comes of a model that calls a tool: the request stays as it was, and what asks for nothing else fails", async () => {
    const reply = {
      move: { kind: "say", blocks: [...says("So:"), { type: "tool_use", name: "read", input: {} }] },
    } as const;
    const { ask } = openaiFace({ responder: recording(reply).responder });
    expect(outputOf(await ask("responses", over())).map(({ type }) => type)).toEqual(["message"]);
    const { responder, log } = recording(reply);
    const alone = respond({ input: [user, item("compaction_trigger", {})] });
    expect(await openaiFace({ responder }).ask("responses", alone)).toMatchObject({ status: 500 });
    expect(log).toEqual(["compaction", "compaction lost"]);
  });
});

describe("compaction-unavailable", () => {
  const fault = { kind: "compaction-unavailable" } as const;
  const headers = { ...bearer, "x-simulator-fault": fault.kind };
  const unavailable = {
    status: 503,
    body: {
      error: {
        type: "server_error",
        code: "compaction_unavailable",
        message: expect.stringContaining("Compaction is unavailable") as unknown,
      },
    },
  };

  it.each<[string, Path, JsonObject]>([
    ["on demand", "compact", { model: "gpt-5.6-sol", input: "Hello" }],
    ["at a trigger", "responses", respond({ input: [user, item("compaction_trigger", {})] })],
    ["over a threshold", "responses", over()],
    ["over a threshold of a stream", "responses", over({ stream: true })],
  ])("refuses what is compacted %s for the moment, whoever brings it", async (_, path, body) => {
    expect(await openaiFace({ responder: recording().responder }).ask(path, body, headers)).toMatchObject(unavailable);
    const { responder, log } = recording({ fault });
    expect(await openaiFace({ responder }).ask(path, body)).toMatchObject(unavailable);
    expect(log).toEqual(["compaction", "compaction lost"]);
  });

  it("does nothing to a request that is not compacted for, and a trace names it only where it struck", async () => {
    const lines: string[] = [];
    const { ask } = openaiFace({ trace: new TraceWriter({ write: async (line) => void lines.push(line) }) });
    expect(await ask("responses", respond(), headers)).toMatchObject({ status: 200 });
    expect(await ask("inputTokens", respond(), headers)).toMatchObject({ status: 200 });
    expect(await ask("responses", over(), headers)).toMatchObject(unavailable);
    const traced = lines.flatMap((line) => line.trim().split("\n")).map((line) => JSON.parse(line) as JsonObject);
    const requests = traced.filter(({ type }) => type === "request");
    expect(requests.map(({ faults }) => faults)).toEqual([[], [], [fault.kind]]);
  });
});

describe("behind a compaction", () => {
  it("what was thought is known again: it is bound to the summary, whatever else was shown", async () => {
    const { responder } = recording({}, [
      { type: "thinking", thinking: "A lamp is missing. ".repeat(9) },
      ...says("Lit."),
    ]);
    const { ask } = openaiFace({ responder });
    const output = outputOf(await ask("responses", over()));
    expect(output.map(({ type }) => type)).toEqual(["compaction", "reasoning", "message"]);
    const tokens = async (items: readonly JsonObject[]): Promise<number> =>
      Number((await ask("inputTokens", { model: "gpt-5.6-sol", input: [...items, user] })).body["input_tokens"]);
    const unthought = output.filter(({ type }) => type !== "reasoning");
    expect(await tokens(output)).toBeGreaterThan(await tokens(unthought));
  });

  it("on demand: what an earlier compaction stands for is gone, in a chain as in items that are sent back", async () => {
    const { ask } = openaiFace({ responder: recording().responder });
    const first = await ask("responses", over());
    const model = "gpt-5.6-sol";
    const chained = await ask("compact", {
      model,
      previous_response_id: textField(first.body, "id") ?? "",
      input: "On",
    });
    const sent = await ask("compact", { model, input: [...outputOf(first), { role: "user", content: "On" }] });
    const said = (told: typeof sent): readonly unknown[] => outputOf(told).map(({ type, content }) => [type, content]);
    expect(said(chained)).toEqual([
      ["message", [{ type: "input_text", text: "On" }]],
      ["compaction", undefined],
    ]);
    expect(said(sent)).toEqual(said(chained));
    const all = [...history, ...outputOf(first), ...outputOf(chained), user];
    const behindAll = await ask("inputTokens", { model, input: all });
    const alone = await ask("inputTokens", { model, input: [...outputOf(chained), user] });
    expect(behindAll.body).toEqual(alone.body);
  });

  it("on demand: the user's parts come back as they were sent", async () => {
    const parts = [
      item("input_text", { text: "See", prompt_cache_breakpoint: { mode: "explicit" } }),
      item("input_image", { image_url: "https://x.test/a.png", detail: "high" }),
      item("input_file", { file_id: "file_1" }),
    ];
    const { ask } = openaiFace({ responder: recording().responder });
    const first = await ask("responses", respond({ input: [{ role: "user", content: parts }] }));
    const told = await ask("compact", {
      model: "gpt-5.6-sol",
      previous_response_id: textField(first.body, "id") ?? "",
      input: "On",
    });
    expect(outputOf(told)[0]).toMatchObject({ role: "user", content: parts });
    expect(outputOf(told)[1]).toMatchObject({ role: "user", content: [{ type: "input_text", text: "On" }] });
  });
});

import { describe, expect, it } from "vitest";
import {
  bearer,
  chat,
  openaiFace,
  outputOf,
  type Path,
  respond,
  type Told,
} from "../../../../test/fixture/openai-api.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { virtualClock } from "../simulator-clock.ts";

const saying = (part: string): unknown => expect.stringContaining(part);

describe("what a reply says", () => {
  it("ends early at its limit, at a stop sequence, and where the model refuses", async () => {
    const talks = playing(says("One two three. Four five six seven eight nine ten eleven twelve thirteen fourteen."));
    const cut = await openaiFace({ responder: talks }).ask(
      "responses",
      respond({ model: "gpt-4o", max_output_tokens: 16 }),
    );
    expect(cut.body).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    const stopped = await openaiFace({ responder: talks }).ask("chatCompletions", chat({ stop: ["Four"] }));
    expect(stopped.body).toMatchObject({
      choices: [{ message: { content: "One two three. " }, finish_reason: "stop" }],
    });
    const refusing = playing({ kind: "say", blocks: says("No."), stop: "refusal" });
    const filtered = await openaiFace({ responder: refusing }).ask("chatCompletions", chat());
    expect(filtered.body).toMatchObject({ choices: [{ finish_reason: "content_filter" }] });
  });

  it("tells its cost where the price is known, and nothing of it where it is not", async () => {
    const { ask } = openaiFace({ models: [{ id: "gpt-free" }] });
    const told = await ask("chatCompletions", chat());
    const { prompt_tokens: input, completion_tokens: output } = told.body["usage"] as Record<string, number>;
    expect(Number(told.headers["x-simulator-cost-usd"])).toBeCloseTo(
      ((input ?? 0) * 2.5 + (output ?? 0) * 10) / 1e6,
      12,
    );
    for (const unpriced of [
      respond(),
      respond({ model: "gpt-free" }),
      respond({ model: "gpt-5", service_tier: "flex" }),
    ])
      expect((await ask("responses", unpriced)).headers["x-simulator-cost-usd"]).toBeUndefined();
  });

  it("numbers requests of both APIs in one row, and tells the time", async () => {
    const { ask, simulator } = openaiFace();
    expect((await ask("chatCompletions", chat())).headers["x-simulator-request"]).toBe("1");
    simulator.models({ headers: new Headers() }, {});
    const told = await ask("responses", respond(), { ...bearer, "x-simulator-advance-ms": "1000" });
    expect(told.headers["x-simulator-request"]).toBe("3");
    expect(told.headers["x-simulator-now"]).toBe("2026-01-01T00:00:01.000Z");
  });

  it("a responder that fails is a server error that says so", async () => {
    const responder = { name: "broken", respond: () => Promise.reject(new Error("no idea")) };
    const told = await openaiFace({ responder }).ask("responses", respond());
    expect(told).toMatchObject({
      status: 500,
      body: { error: { type: "server_error", message: saying("no idea") } },
    });
  });

  it("wrong figures are told where they are asked for, and not billed", async () => {
    const told = await openaiFace().ask("chatCompletions", chat(), {
      ...bearer,
      "x-simulator-fault": "wrong-usage factor=10",
    });
    const right = await openaiFace().ask("chatCompletions", chat());
    const tokens = ({ body }: Told): number => (body["usage"] as Record<string, number>)["prompt_tokens"] ?? 0;
    expect(tokens(told)).toBe(tokens(right) * 10);
    expect(told.headers["x-simulator-cost-usd"]).toBe(right.headers["x-simulator-cost-usd"]);
  });

  it.each(["auto", "concise", "detailed", null])(
    "repeats the summary of reasoning that was asked for: %s",
    async (summary) => {
      const told = await openaiFace().ask("responses", respond({ reasoning: { summary } }));
      expect(told.body).toMatchObject({ reasoning: { summary } });
    },
  );

  it("a client that goes while a reply trickles has not got it", async () => {
    const ends: string[] = [];
    const leave = new AbortController();
    const clock = { ...virtualClock(), sleep: async () => leave.abort() };
    const { simulator } = openaiFace({
      clock,
      responder: {
        name: "leaving",
        respond: () => {
          const move = { kind: "say", blocks: says("One two three.") } as const;
          return { move, delivered: () => void ends.push("delivered"), lost: () => void ends.push("lost") };
        },
      },
    });
    const headers = new Headers({ ...bearer, "x-simulator-fault": "trickle every=10" });
    const answer = await simulator.openai.responses({ body: respond(), headers, signal: leave.signal });
    expect([answer.kind, ends]).toEqual(["dropped", ["lost"]]);
  });
});

describe("a structured format", () => {
  const schema = { type: "object", properties: { city: { type: "string" } } };
  const named = { name: "place", schema, strict: true };

  it.each<[string, Path, JsonObject, JsonObject]>([
    ["a schema", "responses", respond({ text: { format: { type: "json_schema", ...named } } }), schema],
    ["any object", "responses", respond({ text: { format: { type: "json_object" } } }), { type: "object" }],
    ["a schema", "chatCompletions", chat({ response_format: { type: "json_schema", json_schema: named } }), schema],
  ])("is shown to the responder: %s, %s", async (_, path, body, expected) => {
    const seen: unknown[] = [];
    const { ask } = openaiFace({
      responder: {
        name: "spy",
        respond: ({ request }) => {
          seen.push(request.output_config);
          return { move: { kind: "say", blocks: says("{}") } };
        },
      },
    });
    expect(await ask(path, body)).toMatchObject({ status: 200 });
    expect(seen).toEqual([{ format: { type: "json_schema", schema: expected } }]);
  });

  it("costs the same in both forms, and nothing where it is any text", async () => {
    const { ask } = openaiFace();
    const spent = async (path: Path, body: JsonObject): Promise<unknown> => {
      const usage = (await ask(path, body)).body["usage"] as Record<string, number>;
      return usage["input_tokens"] ?? usage["prompt_tokens"];
    };
    const format = { type: "json_schema", ...named };
    const response = await spent("responses", respond({ model: "gpt-4o", text: { format } }));
    const completion = await spent(
      "chatCompletions",
      chat({ response_format: { type: "json_schema", json_schema: named } }),
    );
    expect(response).toBe(completion);
    expect(await spent("chatCompletions", chat({ response_format: { type: "text" } }))).toBe(
      await spent("chatCompletions", chat()),
    );
  });
});

describe("echo, who answers where nobody else is asked for", () => {
  const parameters: JsonObject = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const input = { path: expect.any(String) as unknown };
  const parsed = (source: unknown): unknown => JSON.parse(String(source));

  it.each<[string, Json, Json]>([
    ["any", "required", "required"],
    ["a named one", { type: "function", function: { name: "read" } }, { type: "function", name: "read" }],
  ])("calls a tool that must be called: %s", async (_, inChat, inResponses) => {
    const { ask } = openaiFace();
    const completion = await ask(
      "chatCompletions",
      chat({ tools: [{ type: "function", function: { name: "read", parameters } }], tool_choice: inChat }),
    );
    const [choice] = completion.body["choices"] as Record<string, { tool_calls: { function: JsonObject }[] }>[];
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ function: { name: "read" } }] },
    });
    expect(parsed(choice?.["message"]?.tool_calls[0]?.function["arguments"])).toEqual(input);
    const response = await ask(
      "responses",
      respond({ tools: [{ type: "function", name: "read", parameters, strict: false }], tool_choice: inResponses }),
    );
    const call = outputOf(response).find(({ type }) => type === "function_call");
    expect(call).toMatchObject({ name: "read" });
    expect(parsed(call?.["arguments"])).toEqual(input);
  });

  it("says the JSON that a schema asks for", async () => {
    const { ask } = openaiFace();
    const named = { name: "place", schema: parameters, strict: true };
    const format = { type: "json_schema", ...named };
    const completion = await ask(
      "chatCompletions",
      chat({ response_format: { type: "json_schema", json_schema: named } }),
    );
    const [choice] = completion.body["choices"] as Record<string, JsonObject>[];
    expect(parsed(choice?.["message"]?.["content"])).toEqual(input);
    const said = async (asked: JsonObject): Promise<unknown> => {
      const told = outputOf(await ask("responses", respond({ text: { format: asked } })));
      const [part] = told.flatMap(({ content }) => content as JsonObject[]);
      return parsed(part?.["text"]);
    };
    expect(await said(format)).toEqual(input);
    expect(await said({ type: "json_object" })).toEqual({});
  });
});

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Responder, MoveBlock, RespondInput } from "../../packages/simulator/src/responder/responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { threadMillisMax } from "../../packages/simulator/src/limits.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { playing, says } from "./support/simulated.ts";

const model = "claude-opus-5";
const asks = (content: string): Anthropic.Beta.BetaMessageParam => ({ role: "user", content });

interface Sent {
  readonly thread: unknown;
  readonly roles: readonly string[];
  readonly status: number;
}

/** The official client before a simulator, with every request that it sent. */
function connected(responder: Responder, maxRetries = 0) {
  const simulator = new Simulator({ responder });
  const requests: Sent[] = [];
  const inner = simulatorFetch(simulator);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const response = await inner(url, init);
    if (typeof init?.body === "string") {
      const body = JSON.parse(init.body) as { thread?: unknown; messages: { role: string }[] };
      const roles = body.messages.map(({ role }) => role);
      requests.push({ thread: body.thread, roles, status: response.status });
    }
    return response;
  };
  const client = new Anthropic({ apiKey: "sk-test", maxRetries, baseURL: "http://simulator", fetch });
  return { client, simulator, requests };
}

/** Answers with what it was shown last, and how much that was. */
const counting: Responder = {
  name: "counting",
  respond: ({ request }) => ({ move: { kind: "say", blocks: says(`You sent ${request.messages.length}.`) } }),
};

const textOf = ({ content }: Anthropic.Beta.BetaMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ");
const continuing = (id: string): unknown => ({ type: "continue", previous_message_id: id });

describe("a thread of the official SDK", () => {
  it("sends only what is new, and the model has it all", async () => {
    const { client, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100, system: "Count." });
    const first = await thread.send(asks("One."));
    const second = await thread.send(asks("Two."));
    expect([textOf(first), textOf(second)]).toEqual(["You sent 1.", "You sent 3."]);
    expect(requests).toEqual([
      { thread: { type: "create" }, roles: ["user"], status: 200 },
      { thread: continuing(first.id), roles: ["user"], status: 200 },
    ]);
    expect(thread.previousMessageId).toBe(second.id);
  });

  it("goes on from a stream as from a whole reply", async () => {
    const { client, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100 });
    const first = await thread.stream(asks("One.")).finalMessage();
    expect(textOf(await thread.stream(asks("Two.")).finalMessage())).toBe("You sent 3.");
    expect(requests.map(({ thread: sent }) => sent)).toEqual([{ type: "create" }, continuing(first.id)]);
  });

  it("is forked by beginning anew with the same messages, and both go on", async () => {
    const { client, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100 });
    await thread.send(asks("One."));
    const fork = thread.fork();
    expect(textOf(await fork.send(asks("Else.")))).toBe("You sent 3.");
    expect(textOf(await thread.send(asks("Two.")))).toBe("You sent 3.");
    expect(requests.map(({ roles }) => roles.length)).toEqual([1, 3, 1]);
  });

  it("that the server forgot after five minutes is begun anew by itself", async () => {
    const { client, simulator, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100 });
    await thread.send(asks("One."));
    simulator.clock.advance(millis(threadMillisMax));
    expect(textOf(await thread.send(asks("Two.")))).toBe("You sent 3.");
    expect(requests.map(({ status, roles }) => [status, roles.length])).toEqual([
      [200, 1],
      [404, 1],
      [200, 3],
    ]);
  });

  it("that somebody else has gone on with is begun anew by itself", async () => {
    const { client, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100 });
    const { id } = await thread.send(asks("One."));
    await client.beta.messages.create({
      model,
      max_tokens: 100,
      thread: { type: "continue", previous_message_id: id },
      betas: ["message-threads-2026-08-12"],
      messages: [asks("Mine.")],
    });
    expect(textOf(await thread.send(asks("Two.")))).toBe("You sent 3.");
    expect(requests.map(({ status }) => status)).toEqual([200, 200, 400, 200]);
  });

  it("tells errors by their codes", async () => {
    let release = (): void => undefined;
    const slow: Responder = {
      name: "slow",
      respond: async ({ request }) => {
        if (request.messages.length > 1) await new Promise<void>((done) => (release = done));
        return { move: { kind: "say", blocks: says("Yes.") } };
      },
    };
    const { client } = connected(slow);
    const base = { model, max_tokens: 100, betas: ["message-threads-2026-08-12"] };
    const { id } = await client.beta.messages.create({ ...base, thread: { type: "create" }, messages: [asks("One.")] });
    const goOn = (more: Partial<Anthropic.Beta.MessageCreateParamsNonStreaming> = {}) =>
      client.beta.messages.create({
        ...base,
        thread: { type: "continue", previous_message_id: id },
        messages: [asks("Two.")],
        ...more,
      });
    const first = goOn();
    const inFlight = goOn();
    await expect(inFlight).rejects.toMatchObject({ status: 400, errorCode: "thread_continue_in_flight" });
    await expect(inFlight).rejects.toBeInstanceOf(Anthropic.ThreadContinueInFlightError);
    release();
    await first;
    await expect(goOn()).rejects.toMatchObject({ status: 400, errorCode: "thread_already_continued" });
    await expect(goOn({ thread: { type: "continue", previous_message_id: "msg_none" } })).rejects.toMatchObject({
      status: 404,
      errorCode: "thread_not_found",
    });
    const thinking = { thread: { type: "create" }, thinking: { type: "adaptive" } } as const;
    await expect(goOn(thinking)).rejects.toMatchObject({
      errorCode: "thread_unsupported_request",
      details: { unsupported: ["thinking"] },
    });
  });

  it("that broke off is begun anew by the client: the server holds nothing of it", async () => {
    const { client, requests } = connected(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100 });
    const first = await thread.send(asks("One."));
    const broken = thread.stream(asks("Two."), {}, { headers: { "x-simulator-fault": "break after=2" } });
    await expect(broken.finalMessage()).rejects.toThrow("broken on purpose");
    await thread.send(asks("Three."));
    expect(requests.at(-1)).toMatchObject({ thread: { type: "create" }, status: 200 });
    const held = await client.beta.messages.create({
      model,
      max_tokens: 100,
      betas: ["message-threads-2026-08-12"],
      thread: { type: "continue", previous_message_id: first.id },
      messages: [asks("Again.")],
    });
    expect(textOf(held)).toBe("You sent 3.");
  });
});

describe("the official tool runner", () => {
  const weather = (name: string, ran: string[]) =>
    betaTool({
      name,
      description: "Tells the weather.",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const,
      run: ({ city }) => {
        ran.push(`${name} ${city}`);
        return "Rain.";
      },
    });
  const call = (name: string): readonly MoveBlock[] => [{ type: "tool_use", name, input: { city: "Oslo" } }];

  it("runs over a thread by default", async () => {
    const ran: string[] = [];
    const { client, requests } = connected(playing(call("sky"), call("sky"), says("Take a coat.")));
    const message = await client.beta.messages.toolRunner({
      model,
      max_tokens: 500,
      tools: [weather("sky", ran)],
      messages: [asks("Coat?")],
    });
    expect(textOf(message)).toBe("Take a coat.");
    expect(ran).toEqual(["sky Oslo", "sky Oslo"]);
    expect(requests.map(({ roles, status }) => [roles.length, status])).toEqual([
      [1, 200],
      [1, 200],
      [1, 200],
    ]);
  });

  it("goes on without one where the server can't thread the request", async () => {
    const ran: string[] = [];
    const { client, requests } = connected(playing(call("sky"), says("Take a coat.")));
    await client.beta.messages.toolRunner({
      model,
      max_tokens: 500,
      thinking: { type: "adaptive" },
      tools: [weather("sky", ran)],
      messages: [asks("Coat?")],
    });
    expect(requests.map(({ thread, roles, status }) => [thread !== undefined, roles.length, status])).toEqual([
      [true, 1, 400],
      [false, 1, 200],
      [false, 3, 200],
    ]);
  });

  it("adds and removes tools on the way, and what is cached stays", async () => {
    const ran: string[] = [];
    const offered: (readonly unknown[])[] = [];
    const script = playing(call("sky"), call("radar"), call("radar"), says("Take a coat."));
    const watched: Responder = {
      name: "watched",
      respond: (input: RespondInput) => {
        offered.push((input.request.tools ?? []).map(({ name }) => name));
        return script.respond(input);
      },
    };
    const { client, requests } = connected(watched);
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens: 500,
      betas: ["inline-tools-2026-09-15"],
      system: [{ type: "text", text: "Rules of the sky. ".repeat(400), cache_control: { type: "ephemeral" } }],
      tools: [weather("sky", ran)],
      messages: [asks("Coat?")],
    });
    const read: number[] = [];
    let turn = 0;
    for await (const message of runner) {
      read.push(message.usage.cache_read_input_tokens ?? 0);
      turn += 1;
      if (turn === 1) runner.addTools(weather("radar", ran));
      if (turn === 2) runner.removeTools("sky");
    }
    expect(offered).toEqual([["sky"], ["sky", "radar"], ["radar"], ["radar"]]);
    expect(ran).toEqual(["sky Oslo", "radar Oslo", "radar Oslo"]);
    expect(requests.map(({ roles }) => roles.join(" "))).toEqual(["user", "user system", "user system", "user"]);
    expect(read[0]).toBe(0);
    expect(new Set(read.slice(1)).size).toBe(1);
    expect(read[1]).toBeGreaterThan(1_000);
  });

  it("compacts before its next turn and goes on from the summary in a new thread", async () => {
    const ran: string[] = [];
    const shown: string[] = [];
    const script = playing(call("sky"), says("They asked about a coat."), call("sky"), says("Take a coat."));
    const watched: Responder = {
      name: "watched",
      respond: (input: RespondInput) => {
        shown.push(`${input.purpose} ${JSON.stringify(input.request.messages)}`);
        return script.respond(input);
      },
    };
    const { client, requests } = connected(watched);
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens: 500,
      betas: ["compact-2026-09-04"],
      tools: [weather("sky", ran)],
      messages: [asks("Coat?")],
    });
    const stops: (string | null)[] = [];
    for await (const message of runner) {
      stops.push(message.stop_reason);
      if (stops.length === 1) runner.compactBeforeNextTurn();
    }
    expect(stops).toEqual(["tool_use", "compaction", "tool_use", "end_turn"]);
    expect(requests.map(({ roles, status }) => `${status} ${roles.join(" ")}`)).toEqual([
      "200 user",
      "200 user assistant user",
      "200 assistant",
      "200 user",
    ]);
    expect(shown[1]).toMatch(/^compaction /);
    expect(shown[2]).toContain("They asked about a coat.");
    expect(shown[2]).not.toContain("Coat?");
    expect(ran).toEqual(["sky Oslo", "sky Oslo"]);
  });
});

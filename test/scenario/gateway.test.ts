import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { afterEach, describe, expect, it } from "vitest";
import {
  editFile,
  outputTokens,
  prompt,
  readFileText,
  scriptedModel,
  systemPrompt,
  windowTokens,
} from "../../bench/frameworks/task.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";

const model = "claude-sonnet-5-5";
let world: GatewayWorld;
afterEach(() => world.close());

const path = { type: "string" } as const;
const tools = [
  betaTool({
    name: "read",
    description: "Reads a file.",
    inputSchema: { type: "object", properties: { path }, required: ["path"] },
    run: (input) => readFileText(input.path),
  }),
  betaTool({
    name: "edit",
    description: "Edits a file.",
    inputSchema: { type: "object", properties: { path, replacement: path }, required: ["path", "replacement"] },
    run: (input) => editFile(input.path),
  }),
];

const models = [{ id: model, windowTokens, outputTokensMax: outputTokens }];

async function openTask(options: Partial<GatewayWorldOptions> = {}) {
  const { responder, record } = scriptedModel();
  world = await openGatewayWorld({
    simulator: { responder, models, seed: 1 },
    contextTokens: windowTokens,
    ...options,
  });
  return { record, client: new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url }) };
}

const task = {
  model,
  max_tokens: outputTokens,
  system: systemPrompt,
  tools,
  messages: [{ role: "user" as const, content: prompt }],
  cache_control: { type: "ephemeral" as const },
  max_iterations: 200,
};

describe("an agent that sets its base URL", () => {
  it.each(["stream", "whole"] as const)(
    "finishes a task that does not fit the window, unchanged (%s)",
    async (form) => {
      const { client, record } = await openTask();
      if (form === "stream")
        for await (const stream of client.beta.messages.toolRunner({ ...task, thread: false, stream: true }))
          await stream.finalMessage();
      else await client.beta.messages.toolRunner({ ...task, thread: false });
      const refused = world.traffic.filter(({ status }) => status >= 400);
      expect({ finished: record.finished, wrong: record.editsWrong, refused: refused.length }).toEqual({
        finished: true,
        wrong: 0,
        refused: 0,
      });
      expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
      const [, ...others] = world.conversations.conversations();
      expect(others).toEqual([]);
    },
  );
});

/** A model that answers with these moves in turn, and with "done" when they are over. */
const moves = (...blocks: readonly (readonly MoveBlock[])[]): Responder => {
  let at = 0;
  return {
    name: "moves",
    respond: () => Promise.resolve({ move: { kind: "say", blocks: blocks[at++] ?? [{ type: "text", text: "done" }] } }),
  };
};

const say = (text: string): MoveBlock => ({ type: "text", text });
const call = (name: string, input: JsonObject): MoveBlock => ({ type: "tool_use", name, input });
const readDefinition = { name: "read", description: "Reads.", input_schema: { type: "object" as const } };
type Said = Anthropic.Beta.BetaMessageParam;

describe("recall, a tool that only the model sees", () => {
  const open = async (responder: Responder): Promise<Anthropic> => {
    world = await openGatewayWorld({ simulator: { responder, seed: 1 } });
    return new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url });
  };
  const ask = (client: Anthropic, messages: Said[]) =>
    client.beta.messages
      .stream({ model, max_tokens: 500, tools: [readDefinition], messages: [...messages] })
      .finalMessage();
  const user = (content: Anthropic.Beta.BetaMessageContentParam): Said => ({ role: "user", content });

  it("is answered within the client's request: one message, without the call, with the output of both replies and the input of the last", async () => {
    const client = await open(
      moves([say("I look it up. "), call("recall", { query: "gauge" })], [say("The gauge is red.")]),
    );
    const reply = await ask(client, [user("Which gauge is red?")]);
    expect(reply.content.map((block) => (block.type === "text" ? block.text : block.type))).toEqual([
      "I look it up. ",
      "The gauge is red.",
    ]);
    expect(reply.stop_reason).toBe("end_turn");
    expect(world.traffic).toHaveLength(2);
    // A client compares the input with its window: the sum of both would be twice what the conversation has.
    const [before, last] = world.events.flatMap((event) => (event.kind === "reply-cost" ? [event] : []));
    const { input_tokens: plain, cache_read_input_tokens: read, output_tokens: output } = reply.usage;
    expect(before?.outputTokens).toBeGreaterThan(0);
    expect(last?.inputTokens).toBeGreaterThan(before?.inputTokens ?? 0);
    expect([plain + (read ?? 0) + (reply.usage.cache_creation_input_tokens ?? 0), output]).toEqual([
      last?.inputTokens,
      (before?.outputTokens ?? 0) + (last?.outputTokens ?? 0),
    ]);
    const [, second] = world.traffic;
    expect(JSON.stringify(second?.body["messages"])).toContain('"type":"tool_result"');
  });

  it("its call and result come back at the same place in every later request, also after a restart", async () => {
    const client = await open(
      moves([say("I look. "), call("recall", { query: "gauge" })], [say("Red.")], [say("Yes.")], [say("No.")]),
    );
    const first = await ask(client, [user("Which gauge?")]);
    const list = [user("Which gauge?"), { role: "assistant" as const, content: first.content }, user("Sure?")];
    const second = await ask(client, list);
    const sent = world.traffic.at(-1)?.body["messages"];
    expect(JSON.stringify(sent)).toMatch(/I look.*"recall".*tool_result.*Red\..*Sure\?/);
    await world.reopen();
    await ask(client, [...list, { role: "assistant", content: second.content }, user("Really?")]);
    const later = world.traffic.at(-1)?.body["messages"];
    expect(JSON.stringify(later).startsWith(JSON.stringify(sent).slice(0, -1))).toBe(true);
    expect(world.traffic.every(({ status }) => status === 200)).toBe(true);
  });

  it("beside a call of the client, its result is joined with the client's", async () => {
    const client = await open(moves([call("read", { path: "a" }), call("recall", { query: "gauge" })], [say("Both.")]));
    const reply = await ask(client, [user("Read a.")]);
    expect(reply.content.map((block) => (block.type === "tool_use" ? block.name : block.type))).toEqual(["read"]);
    expect(reply.stop_reason).toBe("tool_use");
    const id = reply.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))[0] ?? "";
    const results = user([{ type: "tool_result", tool_use_id: id, content: "alpha" }]);
    const last = await ask(client, [user("Read a."), { role: "assistant", content: reply.content }, results]);
    expect(last.content).toMatchObject([{ text: "Both." }]);
    const sent = JSON.stringify(world.traffic.at(-1)?.body["messages"]);
    expect([...sent.matchAll(/"type":"tool_result"/g)]).toHaveLength(2);
    expect(world.traffic.every(({ status }) => status === 200)).toBe(true);
  });

  it("a call that was open when the gateway ended waits for its result: no branch, no edit", async () => {
    const client = await open(moves([call("read", { path: "a" })], [say("Alpha.")]));
    const { content } = await ask(client, [user("Read a.")]);
    await world.reopen();
    const id = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))[0] ?? "";
    const results = user([{ type: "tool_result", tool_use_id: id, content: "alpha" }]);
    await ask(client, [user("Read a."), { role: "assistant", content }, results]);
    const session = world.conversations.conversations()[0]?.id ?? "";
    await world.reopen();
    const context = await openContext({ model, session, store: world.store });
    expect(context.receipts()).toEqual([]);
    await context.close();
  });

  it("a request without tools is sent as it is, byte for byte", async () => {
    await open(moves([say("A title")]));
    const body = JSON.stringify({
      max_tokens: 50,
      model,
      messages: [{ content: "Title?", role: "user" }],
      metadata: { x: 1 },
    });
    const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
    await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body });
    expect(Buffer.from(world.traffic[0]?.bytes ?? []).toString()).toBe(body);
  });
});

describe("a script that names no session", () => {
  it.each(["stream", "whole"] as const)(
    "is a session each time that it is run, also with the same words and replies; a retry is none (%s)",
    async (form) => {
      let asked = 0;
      world = await openGatewayWorld({
        simulator: { seed: 1 },
        // The first request of the second run fails, and its client tries again.
        answer: async () => ((asked += 1) === 4 ? new Response("{}", { status: 529 }) : undefined),
      });
      const client = new Anthropic({ apiKey: "none", maxRetries: 1, baseURL: world.url });
      for (let run = 0; run < 3; run += 1) {
        const messages: Anthropic.MessageParam[] = [];
        for (const content of ["Hello", "And then?", "Bye"]) {
          messages.push({ role: "user", content });
          const request = { model, max_tokens: 50, messages };
          const reply =
            form === "stream"
              ? await client.messages.stream(request).finalMessage()
              : await client.messages.create(request);
          messages.push({ role: "assistant", content: reply.content });
        }
      }
      expect(world.conversations.conversations().map(({ requests, edits }) => [requests, edits])).toEqual([
        [3, 0],
        [4, 0],
        [3, 0],
      ]);
    },
  );
});

describe("edits", () => {
  it("with every edit undone, the client's own bytes are sent", async () => {
    // Careful, so that the last request makes no edit of its own.
    const reduction = { recall: "off", saving: "careful" } as const;
    const { client, record } = await openTask({ reduction, contextTokens: windowTokens });
    const bodies: string[] = [];
    const watched = client.withOptions({
      fetch: async (url, init) => {
        if (typeof init?.body === "string") bodies.push(init.body);
        return await fetch(url, init);
      },
    });
    const { content } = await watched.beta.messages.toolRunner({ ...task, thread: false });
    expect(record.finished).toBe(true);
    const [row] = world.conversations.conversations();
    const session = row?.id ?? "";
    await world.reopen();
    const context = await openContext({ model, session, store: world.store, contextTokens: 1_000_000 });
    const edits = context.receipts();
    expect(edits.length).toBeGreaterThan(2);
    for (const { id } of edits.toReversed()) expect(await context.undo(id)).toMatchObject({ kind: "undone" });
    await context.close();
    // So large that a clear of what was never cleared, on a cold cache, would make too little room.
    world.widen(4_000_000);
    const before = world.traffic.length;
    const next = [
      { role: "assistant", content },
      { role: "user", content: "Thanks. What is left?" },
    ];
    const last = (bodies.at(-1) ?? "").replace(/\](?=[^\]]*$)/, `,${JSON.stringify(next).slice(1, -1)}]`);
    const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
    await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body: last });
    // The upstream's window is too small for it, so that a second, smaller request follows.
    expect(Buffer.from(world.traffic[before]?.bytes ?? []).toString()).toBe(last);
  });

  it.each([
    ["the whole body is the client's", { recall: "off", cacheMarks: "client" }],
    ["its messages are, and recall and marks stand beside them", { recall: "on", cacheMarks: "added" }],
  ] as const)("an undo holds when the client sends its last request again: %s", async (_rule, reduction) => {
    world = await openGatewayWorld({
      simulator: { responder: moves(), seed: 1 },
      contextTokens: windowTokens,
      reduction,
    });
    const messages = [{ role: "user", content: "Hello" }];
    const asked = [
      { role: "assistant", content: "done" },
      { role: "user", content: "Read all." },
    ];
    const rounds = Array.from({ length: 30 }, (_, nth) => [
      { role: "assistant", content: [{ type: "tool_use", id: `toolu_${nth}`, name: "read", input: { nth } }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${nth}`, content: `${nth};`.repeat(2_000) }],
      },
    ]);
    const body = JSON.stringify({
      model,
      max_tokens: 500,
      tools: [readDefinition],
      messages: [...messages, ...asked, ...rounds.flat()],
    });
    const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
    const send = async (): Promise<string> => {
      expect((await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body })).status).toBe(200);
      return Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString();
    };
    const first = JSON.stringify({ model, max_tokens: 500, tools: [readDefinition], messages });
    expect((await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body: first })).status).toBe(200);
    expect((await send()).length).toBeLessThan(body.length);
    const session = world.conversations.conversations()[0]?.id ?? "";
    await world.reopen();
    const context = await openContext({ model, session, store: world.store, contextTokens: 1_000_000 });
    const edits = context.receipts().filter(({ undoes }) => undoes);
    for (const { id } of edits.toReversed()) expect(await context.undo(id)).toMatchObject({ kind: "undone" });
    await context.close();
    world.widen(1_000_000);
    const again = [await send(), await send()];
    if (reduction.recall === "off") expect(again).toEqual([body, body]);
    const list = body.slice(body.indexOf('"messages":'), -1);
    expect(again.map((one) => one.includes(list))).toEqual([true, true]);
  });
});

import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { GatewayConversation } from "../../packages/gateway/src/conversation/gateway-conversation.ts";
import { isArray, isObject, type Json, type JsonObject, parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { faultyStore, type StoreFault } from "./support/faulty-store.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";
import { type GotReply, post, type PostOptions, readContent } from "./support/messages-client.ts";
import { flatten, readTranscript, recall } from "./support/transcript-messages.ts";

let world: GatewayWorld;
const store = faultyStore(memoryStore());
afterEach(async () => {
  vi.restoreAllMocks();
  store.fail({ kind: "none" });
  await world.close();
});

const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];

/** Says what no other reply says. `own`: replies, by their number, that call the gateway's tool. */
function talker(own: Readonly<Record<number, readonly MoveBlock[]>>) {
  let n = 0;
  return {
    name: "talker",
    respond: () => {
      n += 1;
      const blocks: readonly MoveBlock[] = own[n] ?? [
        { type: "text", text: `reply ${n}: ein schönes Stück, 終わり` },
        { type: "tool_use", name: "read", input: { n } },
      ];
      return { move: { kind: "say", blocks } } as const;
    },
  };
}

async function openWorld(
  options: Partial<GatewayWorldOptions> & { readonly own?: Readonly<Record<number, readonly MoveBlock[]>> } = {},
): Promise<void> {
  const { own = {}, ...others } = options;
  world = await openGatewayWorld({
    simulator: { responder: talker(own), seed: 7, clock: realClock() },
    store,
    reduction: { recall: Object.keys(own).length > 0 ? "on" : "off" },
    ...others,
  });
}

/** An agent that sends its whole list each time. */
class Agent {
  readonly list: JsonObject[] = [{ role: "user", content: `task of ${crypto.randomUUID()}` }];
  readonly #form: "stream" | "whole";
  readonly #headers: Readonly<Record<string, string>>;

  constructor(form: "stream" | "whole", headers: Readonly<Record<string, string>> = {}) {
    this.#form = form;
    this.#headers = headers;
  }

  get body(): string {
    return JSON.stringify({ model, max_tokens: 1_000, stream: this.#form === "stream", tools, messages: this.list });
  }

  ask(options: Partial<PostOptions> = {}, url = world.url): Promise<GotReply> {
    return post(url, { body: this.body, ...options, headers: { ...this.#headers, ...options.headers } });
  }

  /** Takes a reply and does what it asks for. */
  take(got: GotReply): void {
    const content = readContent(got);
    if (content === undefined) throw new Error(`no reply: ${got.status} ${got.end} ${got.bytes.toString("utf8")}`);
    const calls = content.filter((block) => block["type"] === "tool_use");
    this.list.push({ role: "assistant", content: [...content] });
    const results = calls.map(({ id = "", input }): JsonObject => {
      return { type: "tool_result", tool_use_id: id, content: `result of ${JSON.stringify(input)}` };
    });
    this.list.push({ role: "user", content: results.length > 0 ? results : "go on" });
  }
}

/** Two rounds without a fault; then the transcript is the agent's list, and it is one conversation. */
async function expectWhole(agent: Agent): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    agent.take(await agent.ask());
    const sent = world.traffic.at(-1)?.body["messages"];
    const list = flatten(agent.list.slice(0, -2));
    expect(flatten(toMessages(sent)).slice(0, list.length)).toEqual(list);
  }
  expect(world.traffic.filter(({ status }) => status === 400)).toEqual([]);
  const rows = world.conversations.conversations();
  expect(rows).toHaveLength(1);
  await world.conversations.close();
  const ports = await store.open();
  if (ports.kind === "failed") throw new Error(ports.message);
  const { messages, damage } = await readTranscript(ports, rows[0]?.id ?? "");
  expect(damage).toEqual([]);
  expect(flatten(messages)).toEqual(flatten(agent.list.slice(0, -1)));
}

const toMessages = (value: Json | undefined): readonly object[] => (isArray(value) ? value.filter(isObject) : []);

const model = "claude-sonnet-5-5";
const forms = ["stream", "whole"] as const;
const comparable = ({ status, headers, bytes, end }: GotReply) => ({
  status,
  end,
  text: bytes.toString("utf8"),
  type: headers["content-type"],
  retryAfter: headers["retry-after"],
  request: headers["request-id"],
});

/** What the same client gets from the same upstream without a gateway. */
async function askDirectly(agent: Agent, headers: Readonly<Record<string, string>> = {}): Promise<GotReply> {
  await openWorld();
  const got = await agent.ask({ headers }, world.upstreamUrl);
  await world.close();
  return got;
}

const failedSteps = (): readonly string[] =>
  world.events.flatMap((event) => (event.kind === "failed-open" ? [event.step] : []));

describe("what the upstream does wrong reaches the client as it is", () => {
  const faults = [
    "rate-limit retry-after=3",
    "overloaded",
    "server-error",
    "timeout",
    "break after=0",
    "break after=3",
    "break after=7",
    "break-utf8",
    "overloaded-midway after=4",
    "trickle every=3",
    "wrong-usage factor=2",
    "duplicate",
  ];
  it.each(faults.flatMap((fault) => forms.map((form) => [fault, form] as const)))(
    "%s (%s), and the next tries go on",
    async (fault, form) => {
      if (fault === "duplicate" && form === "whole") return;
      // Its client can't read what it got whole, and asks again: that is no retry, but it names its session.
      const agent = new Agent(form, fault === "duplicate" ? { "x-palimpsest-session": "one" } : {});
      const headers = { "x-simulator-fault": fault };
      const direct = await askDirectly(agent, headers);
      await openWorld();
      const got = await agent.ask({ headers });
      // A body that is read whole is not passed on in half.
      if (form === "whole" && direct.end === "broken") expect(got.status).toBe(502);
      else expect(comparable(got)).toEqual(comparable(direct));
      expect(failedSteps()).toEqual([]);
      // What a client has a whole reply to is not asked again.
      if (fault !== "duplicate" && readContent(got) !== undefined) agent.take(got);
      await expectWhole(agent);
    },
  );

  it("a connection that is reset before the first byte is an error that clients try again", async () => {
    await openWorld();
    const agent = new Agent("stream");
    const got = await agent.ask({ headers: { "x-simulator-fault": "reset" } });
    expect([got.status, got.headers["x-palimpsest-error"]]).toEqual([502, "upstream-unreachable"]);
    await expectWhole(agent);
  });

  it.each([400, 413, 401, 500])("an error of 3 MB with status %i", async (status) => {
    let isRefused = true;
    const text = `{"type":"error","error":{"message":"${"x".repeat(3 * 2 ** 20)}"}}`;
    await openWorld({
      answer: async () => (isRefused ? new Response(text, { status, headers: { "x-detail": "1" } }) : undefined),
    });
    const agent = new Agent("stream");
    const got = await agent.ask();
    expect([got.status, got.headers["x-detail"], got.end]).toEqual([status, "1", "whole"]);
    expect(got.bytes.toString("utf8") === text).toBe(true);
    isRefused = false;
    world.traffic.forEach((seen) => (seen.status = 0));
    await expectWhole(agent);
  });

  it("hangs as long as the client waits, and is left when it goes", async () => {
    await openWorld();
    const agent = new Agent("stream");
    const got = await agent.ask({ headers: { "x-simulator-fault": "hang" }, silenceMs: 150 });
    expect(got.end).toBe("broken");
    await expectWhole(agent);
  });
});

describe("a client that goes away", () => {
  it.each([
    ["in the middle of its body", { at: "body", after: 60 }],
    ["before the first byte", { at: "head", after: 8 }],
    ["in the middle of the reply", { at: "stream", after: 1 }],
  ] as const)("%s finds everything when it comes back", async (_, cut) => {
    await openWorld();
    const agent = new Agent("stream");
    agent.take(await agent.ask());
    await agent.ask({ cut, headers: { "x-simulator-fault": "trickle every=5" } });
    await expectWhole(agent);
  });
});

describe("what fails of ours does not reach the client", () => {
  const storeFaults: readonly StoreFault[] = [
    { kind: "disk-full", after: 0 },
    { kind: "disk-full", after: 1 },
    { kind: "disk-full", after: 3 },
    { kind: "read-only", after: 0 },
    { kind: "throws", after: 0 },
    { kind: "throws", after: 2 },
    { kind: "throws", after: 4 },
    { kind: "slow", ms: 20 },
  ];
  it.each(storeFaults.flatMap((fault) => forms.map((form) => [JSON.stringify(fault), form, fault] as const)))(
    "a store that fails: %s (%s)",
    async (_, form, fault) => {
      const agent = new Agent(form);
      const direct = await askDirectly(agent);
      await openWorld();
      store.fail(fault);
      const got = await agent.ask();
      expect(comparable(got)).toEqual(comparable(direct));
      expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(agent.body);
      agent.take(got);
      agent.take(await agent.ask());
      store.fail({ kind: "none" });
      if (fault.kind === "slow") expect(failedSteps()).toEqual([]);
      else expect(failedSteps()).not.toEqual([]);
      await expectWhole(agent);
    },
  );

  it("a session that another program has open is waited for a little, and then left alone", async () => {
    await openWorld();
    const agent = new Agent("stream");
    store.fail({ kind: "busy" });
    setTimeout(() => store.fail({ kind: "none" }), 120);
    agent.take(await agent.ask());
    expect(failedSteps()).toEqual([]);
    await world.reopen();
    store.fail({ kind: "busy" });
    await agent.ask();
    expect(failedSteps()).toEqual(["prepare"]);
    store.fail({ kind: "none" });
  });

  it.each(
    forms.flatMap((form) => (["prepare", "record", "recordWhole"] as const).map((step) => [step, form] as const)),
  )("%s throws (%s)", async (step, form) => {
    const agent = new Agent(form);
    const direct = await askDirectly(agent);
    await openWorld();
    vi.spyOn(GatewayConversation.prototype, step).mockRejectedValueOnce(new TypeError("a bug"));
    const got = await agent.ask();
    expect(comparable(got)).toEqual(comparable(direct));
    const isUsed = step === "prepare" || (step === "record") === (form === "stream");
    expect(failedSteps()).toEqual(isUsed ? [step === "prepare" ? "prepare" : "record"] : []);
    vi.restoreAllMocks();
    agent.take(got);
    await expectWhole(agent);
  });

  it("the recogniser throws", async () => {
    const agent = new Agent("stream");
    const direct = await askDirectly(agent);
    await openWorld();
    vi.spyOn(world.conversations, "findUnlessTaken").mockImplementationOnce(() => {
      throw new TypeError("a bug");
    });
    const got = await agent.ask();
    expect(comparable(got)).toEqual(comparable(direct));
    expect(failedSteps()).toEqual(["recognise"]);
    agent.take(got);
    await expectWhole(agent);
  });

  const text = { type: "text", text: "I look it up." } as const;
  const call = { type: "tool_use", name: recall, input: { query: "task" } } as const;
  it.each(forms)(
    "an own call that can't be answered: the client's own request goes on with the reply (%s)",
    async (form) => {
      await openWorld({ own: { 2: [text, call] } });
      const agent = new Agent(form);
      agent.take(await agent.ask());
      vi.spyOn(GatewayConversation.prototype, "answer").mockRejectedValueOnce(new TypeError("a bug"));
      const got = await agent.ask();
      expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(agent.body);
      expect(failedSteps()).toEqual(["answer"]);
      agent.take(got);
      expect(flatten(agent.list.slice(-2, -1)).map((said) => said.slice(0, 27))).toEqual([
        'assistant text ["I look it ',
        'assistant text ["reply 3: e',
        'assistant tool_use [null,"r',
      ]);
      await expectWhole(agent);
    },
  );

  const hang = () => new Promise<never>(() => undefined);
  it.each(forms.flatMap((form) => (["answer", "next"] as const).map((step) => [step, form] as const)))(
    "%s hangs after an own call: the client's own request goes on with the reply (%s)",
    async (step, form) => {
      await openWorld({ own: { 2: [text, call] } });
      const agent = new Agent(form);
      agent.take(await agent.ask());
      vi.spyOn(GatewayConversation.prototype, "turnMsMax", "get").mockReturnValue(60);
      vi.spyOn(GatewayConversation.prototype, step).mockImplementationOnce(hang);
      const got = await agent.ask();
      expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(agent.body);
      expect(failedSteps()).toEqual(["answer"]);
      agent.take(got);
    },
  );

  it.each(["handleRefusal", "recordWhole"] as const)("%s hangs", async (step) => {
    let isRefused = step === "handleRefusal";
    await openWorld({
      own: { 99: [] },
      answer: async () => {
        const isFirst = isRefused;
        isRefused = false;
        return isFirst ? Response.json({ error: { type: "invalid_request_error" } }, { status: 400 }) : undefined;
      },
    });
    vi.spyOn(GatewayConversation.prototype, "turnMsMax", "get").mockReturnValue(60);
    vi.spyOn(GatewayConversation.prototype, step).mockImplementationOnce(hang);
    const got = await new Agent("whole").ask();
    expect(got.status).toBe(200);
    expect(failedSteps()).toEqual([step === "handleRefusal" ? "refused" : "record"]);
  });

  it("a session that hangs while it is opened is not waited for again, and follows when it is open", async () => {
    await openWorld();
    const agent = new Agent("stream");
    vi.spyOn(GatewayConversation.prototype, "turnMsMax", "get").mockReturnValue(60);
    store.fail({ kind: "slow", ms: 500 });
    await agent.ask();
    await wait(60);
    await agent.ask();
    expect(world.events.flatMap((event) => (event.kind === "failed-open" ? [event.message] : []))).toEqual([
      "it took too long",
      "an earlier request still has the conversation",
    ]);
    store.fail({ kind: "none" });
    vi.restoreAllMocks();
    await wait(1_000);
    await expectWhole(agent);
  });

  it.each(forms)("an error of the upstream after an own call (%s)", async (form) => {
    let refused = 0;
    await openWorld({
      own: { 1: [call] },
      answer: async () => {
        refused += 1;
        const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
        return refused === 2 ? Response.json(error, { status: 529, headers: { "retry-after": "2" } }) : undefined;
      },
    });
    const agent = new Agent(form);
    const got = await agent.ask();
    if (form === "whole") expect([got.status, got.headers["retry-after"]]).toEqual([529, "2"]);
    else expect(got.bytes.toString("utf8")).toContain('data: {"type":"error","error":{"type":"overloaded_error"');
    await expectWhole(agent);
    const looked = world.traffic.map(
      ({ bytes }) => Buffer.from(bytes).toString().split('"name":"recall","input"').length,
    );
    expect(looked).toEqual([1, 2, 2, 2]);
  });

  it("a refusal that names nothing in the request shortens nothing", async () => {
    const refusals = new Set([4, 6]);
    await openWorld({
      own: { 1: [call, { type: "text", text: "I looked." }] },
      answer: () => {
        const error = { type: "error", error: { type: "invalid_request_error", message: "It was not accepted." } };
        const isRefused = refusals.has(world.traffic.length);
        return Promise.resolve(isRefused ? Response.json(error, { status: 400 }) : undefined);
      },
    });
    const agent = new Agent("stream");
    agent.take(await agent.ask());
    agent.take(await agent.ask());
    for (let round = 0; round < 2; round += 1) {
      const asked = agent.body;
      agent.take(await agent.ask());
      expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(asked);
    }
    expect(failedSteps()).toEqual(["refused", "refused"]);
    agent.take(await agent.ask());
    expect(JSON.stringify(world.traffic.at(-1)?.body["messages"])).toContain('"name":"recall","input"');
    expect(world.traffic.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200, 400, 200, 200]);
  });

  it("a request that was changed and is refused for good is sent as the client wrote it", async () => {
    await openWorld({
      own: { 99: [] },
      answer: async (request) => {
        const body = parseJson(await request.text());
        const isChanged = JSON.stringify(body).includes(`"name":"${recall}"`);
        return isChanged ? Response.json({ error: { type: "invalid_request_error" } }, { status: 400 }) : undefined;
      },
    });
    const agent = new Agent("stream");
    const got = await agent.ask();
    expect(got.status).toBe(200);
    expect(failedSteps()).toEqual(["refused"]);
    expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(agent.body);
  });
});

describe("a stream that can't be read", () => {
  const type = { "content-type": "text/event-stream" };

  it("because it is compressed in an unknown way passes as it is", async () => {
    const packed = Buffer.from([0x1f, 0x9d, 0x90, 0x61]);
    await openWorld({
      own: { 99: [] },
      answer: async () => new Response(packed, { headers: { ...type, "content-encoding": "compress" } }),
    });
    const got = await new Agent("stream").ask();
    expect([got.status, got.end, Buffer.from(got.bytes)]).toEqual([200, "whole", packed]);
    expect(failedSteps()).toEqual([]);
  });

  it("because an event is too long breaks off for the client, instead of ending as if it were whole", async () => {
    const piece = Buffer.alloc(2 ** 20, "x");
    let pieces = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pieces += 1;
        if (pieces === 1) controller.enqueue(Buffer.from("data: "));
        else if (pieces < 70) controller.enqueue(piece);
        else controller.close();
      },
    });
    await openWorld({ own: { 99: [] }, answer: async () => new Response(body, { headers: type }) });
    const got = await new Agent("stream").ask();
    expect([got.status, got.end]).toEqual([200, "broken"]);
  });
});

it("a request that the client got wrong is refused as it is, and that is no failure of ours", async () => {
  await openWorld({ own: { 99: [] } });
  const body = JSON.stringify({ model, max_tokens: 1_000, temperature: 7, tools, messages: new Agent("whole").list });
  const got = await post(world.url, { body });
  const direct = await post(world.upstreamUrl, { body });
  expect([got.status, got.bytes.toString("utf8").replace(/req_[\w-]+/, "")]).toEqual([
    400,
    direct.bytes.toString("utf8").replace(/req_[\w-]+/, ""),
  ]);
  expect(failedSteps()).toEqual([]);
  // One through the gateway, although it adds a tool, and the direct one.
  expect(world.traffic.map(({ status }) => status)).toEqual([400, 400]);
});

it("a field that the client got wrong shortens no conversation, also one that is reduced", async () => {
  await openWorld({ contextTokens: 20_000 });
  const agent = new Agent("whole");
  agent.list.push({ role: "assistant", content: "Yes." }, { role: "user", content: "word ".repeat(30_000) });
  agent.list.push({ role: "assistant", content: "Read." }, { role: "user", content: "So?" });
  agent.take(await agent.ask());
  const reduced = toMessages(world.traffic.at(-1)?.body["messages"]);
  expect(JSON.stringify(reduced).length).toBeLessThan(20_000);
  const wrong = { model, max_tokens: 1_000, temperature: 7, tools, messages: agent.list };
  expect((await post(world.url, { body: JSON.stringify(wrong) })).status).toBe(400);
  expect(world.traffic.map(({ status }) => status)).toEqual([200, 400]);
  agent.take(await agent.ask());
  expect(toMessages(world.traffic.at(-1)?.body["messages"]).slice(0, reduced.length)).toEqual(reduced);
});

describe("two requests at the same time", () => {
  it("of one session that the client names each get their own reply, and the conversation goes on with the client's list", async () => {
    await openWorld({ own: { 2: [{ type: "tool_use", name: recall, input: { query: "task" } }] } });
    const session = { "x-palimpsest-session": "one" };
    const agent = new Agent("stream", session);
    agent.take(await agent.ask());
    const aside = new Agent("stream", session);
    aside.list.splice(0, 1, ...agent.list.slice(0, 1), { role: "user", content: "by the way" });
    const headers = { "x-simulator-fault": "trickle every=3" };
    const [got, gotAside] = await Promise.all([agent.ask({ headers }), aside.ask({ headers })]);
    expect(readContent(gotAside)).toBeDefined();
    agent.take(got);
    // The older one goes on behind the call of ours, although the newer one has the context.
    expect(JSON.stringify(world.traffic.at(-1)?.body["messages"])).toContain('"name":"recall","input"');
    expect(failedSteps()).toEqual([]);
    await expectWhole(agent);
  });

  it("the same again, while the client waits for the first, is another run: both go on, each as its own", async () => {
    await openWorld({ own: { 2: [{ type: "tool_use", name: recall, input: { query: "task" } }] } });
    const agent = new Agent("stream");
    agent.take(await agent.ask());
    const other = new Agent("stream");
    other.list.splice(0, 1, ...agent.list);
    const headers = { "x-simulator-fault": "trickle every=3" };
    const [first, second] = await Promise.all([agent.ask({ headers }), other.ask({ headers })]);
    agent.take(first);
    other.take(second);
    for (const one of [agent, other, agent, other]) one.take(await one.ask());
    expect(world.conversations.conversations().map(({ requests }) => requests)).toEqual([3, 4]);
    expect(failedSteps()).toEqual([]);
  });

  it("the same again, after the client has given up the first, is a retry", async () => {
    await openWorld({ own: { 99: [] } });
    const agent = new Agent("stream");
    await agent.ask({ headers: { "x-simulator-fault": "trickle every=3" }, cut: { at: "stream", after: 1 } });
    await expectWhole(agent);
  });
});

it("tokens that are counted while a reply comes do not take the conversation from it", async () => {
  await openWorld({ own: { 1: [{ type: "tool_use", name: recall, input: { query: "task" } }] } });
  const agent = new Agent("stream");
  const body = JSON.stringify({ model, tools, messages: agent.list });
  const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01", "content-type": "application/json" };
  const asked = agent.ask({ headers: { "x-simulator-fault": "trickle every=5" } });
  await wait(30);
  const counted = await fetch(`${world.url}/v1/messages/count_tokens`, { method: "POST", headers, body });
  expect(counted.status).toBe(200);
  agent.take(await asked);
  expect(failedSteps()).toEqual([]);
  await expectWhole(agent);
});

describe("requests that hold only a part of a conversation pass as they are", () => {
  it.each([{ previous_response_id: "resp_1" }, { conversation: "conv_1" }])("%j", async (fields) => {
    await openWorld({ own: { 99: [] }, answer: async () => Response.json({ output: [] }) });
    const body = JSON.stringify({ model: "gpt-5.6", input: [{ role: "user", content: "go" }], tools, ...fields });
    await fetch(`${world.url}/v1/responses`, { method: "POST", headers: { authorization: "Bearer none" }, body });
    expect(Buffer.from(world.traffic.at(-1)?.bytes ?? []).toString()).toBe(body);
    expect(world.conversations.conversations()).toEqual([]);
  });
});

import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";
import { post, readContent } from "./support/messages-client.ts";

const model = "claude-sonnet-5-5";
const windowTokens = 20_000;
const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];
let world: GatewayWorld;
afterEach(() => world.close());

/** Says what no other reply says, and calls recall in every fifth one. */
function talker(): Responder {
  let n = 0;
  return {
    name: "talker",
    respond: () => {
      n += 1;
      const call: MoveBlock =
        n % 5 === 0
          ? { type: "tool_use", name: "recall", input: { query: "needle" } }
          : { type: "tool_use", name: "read", input: { n } };
      return { move: { kind: "say", blocks: [{ type: "text", text: `reply ${n}` }, call] } };
    },
  };
}

const openWorld = async (responder: Responder): Promise<void> => {
  world = await openGatewayWorld({
    simulator: {
      responder,
      models: [{ id: model, windowTokens, outputTokensMax: 1_000 }],
      seed: 1,
      clock: realClock(),
    },
    contextTokens: windowTokens,
  });
};

/** An agent without a session id. Each of its results is longer than a thirtieth of the window. */
class Agent {
  readonly #name: string;
  readonly #system: string;
  readonly list: JsonObject[] = [{ role: "user", content: "Fix the tests." }];

  constructor(name: string, system = "You fix.") {
    this.#name = name;
    this.#system = system;
  }

  async ask(headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const body = { model, max_tokens: 1_000, stream: true, system: this.#system, tools, messages: this.list };
    const got = await post(world.url, { body: JSON.stringify(body), headers });
    const content = readContent(got);
    if (content === undefined) throw new Error(`${this.#name}: ${got.status} ${got.bytes.toString("utf8")}`);
    this.list.push({ role: "assistant", content: [...content] });
    const calls = content.filter((block) => block["type"] === "tool_use");
    const results = calls.map(({ id = "" }): JsonObject => ({
      type: "tool_result",
      tool_use_id: id,
      content: `${this.#name} ${this.list.length} needle ${"lorem ipsum ".repeat(250)}`,
    }));
    this.list.push({ role: "user", content: results.length > 0 ? results : "go on" });
  }
}

const failures = (): readonly string[] =>
  world.events.flatMap((event) => (event.kind === "failed-open" ? [`${event.step}: ${event.message}`] : []));

const branches = async (): Promise<number> => {
  const rows = world.conversations.conversations();
  await world.reopen();
  let count = 0;
  for (const { id } of rows) {
    const context = await openContext({ model, session: id, store: world.store });
    count += context.receipts().filter(({ kind }) => kind === "branch").length;
    await context.close();
  }
  return count;
};

describe("agents of a client that names no session, side by side on the same task", () => {
  const rounds = 36;

  it("are a session each, all of them within the window, and all finish", async () => {
    await openWorld(talker());
    await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => {
        const agent = new Agent(name);
        for (let round = 0; round < rounds; round += 1) await agent.ask();
      }),
    );
    expect(failures()).toEqual([]);
    const rows = world.conversations.conversations();
    expect(rows.map(({ requests }) => requests)).toEqual([rounds, rounds, rounds, rounds]);
    expect(rows.every(({ edits }) => edits > 0)).toBe(true);
    expect(await branches()).toBe(0);
  });

  it("are a session each if one begins while another runs its first tool", async () => {
    await openWorld(talker());
    const agents = ["a", "b", "c"].map((name) => new Agent(name));
    for (const agent of agents) await agent.ask();
    for (let round = 1; round < 4; round += 1) for (const agent of agents.toReversed()) await agent.ask();
    expect(world.conversations.conversations().map(({ requests }) => requests)).toEqual([4, 4, 4]);
    expect(await branches()).toBe(0);
  });

  it("are a session for each system prompt, which may change later", async () => {
    await openWorld({
      name: "same",
      respond: () => ({ move: { kind: "say", blocks: [{ type: "text", text: "Yes." }] } }),
    });
    const roles = ["author", "editor", "reader"];
    const agents = roles.map((role) => new Agent(role, `You are the ${role}.`));
    for (const agent of agents) await agent.ask();
    for (const agent of agents.toReversed()) await agent.ask();
    for (const [at, role] of roles.entries()) {
      const later = new Agent(role, `You are the ${role}. It is Tuesday.`);
      later.list.splice(0, 1, ...(agents[at]?.list ?? []));
      await later.ask();
    }
    expect(world.conversations.conversations().map(({ requests }) => requests)).toEqual([3, 3, 3]);
  });
});

describe("a count changes no session", () => {
  const count = async (messages: readonly JsonObject[]): Promise<JsonObject | undefined> => {
    const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01", "content-type": "application/json" };
    const body = JSON.stringify({ model, tools, system: "You fix.", messages });
    const counted = await fetch(`${world.url}/v1/messages/count_tokens`, { method: "POST", headers, body });
    expect(counted.status).toBe(200);
    return world.traffic.at(-1)?.body;
  };

  it("of an earlier part of the list, of another list, and of one that is not sent then", async () => {
    await openWorld(talker());
    const agent = new Agent("a");
    for (let round = 0; round < 6; round += 1) await agent.ask();
    for (const length of [1, 3, 5])
      expect((await count(agent.list.slice(0, length)))?.["messages"]).toHaveLength(length);
    await count([{ role: "user", content: "foo" }]);
    await count([...agent.list, { role: "user", content: "a draft" }]);
    await agent.ask();
    expect(world.conversations.conversations().map(({ requests }) => requests)).toEqual([7]);
    expect(await branches()).toBe(0);
  });

  it("and is of what would be sent, with what is new behind it", async () => {
    await openWorld(talker());
    const agent = new Agent("a");
    for (let round = 0; round < 30; round += 1) await agent.ask();
    const sent = world.traffic.at(-1)?.body;
    const counted = await count(agent.list);
    const [before, after] = [sent?.["messages"], counted?.["messages"]].map((list) => JSON.stringify(list));
    expect(after?.slice(0, 2_000)).toBe(before?.slice(0, 2_000));
    expect(after?.length ?? 0).toBeLessThan(JSON.stringify(agent.list).length / 1.5);
    expect(after).toContain(`a ${agent.list.length - 1} needle`);
    expect(JSON.stringify(counted?.["tools"])).toContain("recall");
  });

  it("while a reply comes", async () => {
    await openWorld(talker());
    const agent = new Agent("a");
    for (let round = 0; round < 4; round += 1) await agent.ask();
    const asked = agent.ask({ "x-simulator-fault": "trickle every=5" });
    await wait(30);
    await count(agent.list.slice());
    await asked;
    await agent.ask();
    expect(failures()).toEqual([]);
    expect(await branches()).toBe(0);
  });
});

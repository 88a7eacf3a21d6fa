import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { isObject, type JsonObject, textField } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";
import { says } from "./support/simulated.ts";

type Params = Anthropic.Beta.Messages.MessageCreateParamsNonStreaming;

const model = "claude-sonnet-5-5";
let world: GatewayWorld;
afterEach(() => world.close());

const schema = { type: "object" as const };
const mark = { type: "ephemeral" as const };
const tools: Anthropic.Beta.BetaTool[] = [
  { name: "read", description: "Reads a file.", input_schema: schema },
  { name: "send_mail", description: "Sends a letter to somebody. ".repeat(40), input_schema: schema },
  { name: "draw", description: "Draws a picture. ".repeat(40), input_schema: schema, cache_control: mark },
];
const call = (name: string, input: JsonObject = {}): readonly MoveBlock[] => [{ type: "tool_use", name, input }];

/** Answers by what it is asked: a conversation's moves in turn. */
async function open(options: Partial<GatewayWorldOptions> = {}) {
  const waiting: (readonly MoveBlock[])[] = [];
  const responder: Responder = {
    name: "waiting",
    respond: () => ({ move: { kind: "say", blocks: waiting.shift() ?? says("Done.") } }),
  };
  world = await openGatewayWorld({ simulator: { responder }, reduction: { deferTools: "on" }, ...options });
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url });
  let conversations = 0;
  const ask = (messages: Params["messages"], more: Partial<Params> = {}) =>
    client.beta.messages.create({ model, max_tokens: 100, tools, messages, ...more });
  return {
    client,
    ask,
    /** A conversation of one call of `read`, so that the tool is known to be used. */
    converse: async (moves: readonly (readonly MoveBlock[])[] = [call("read")]) => {
      conversations += 1;
      waiting.push(...moves);
      const messages: Params["messages"] = [{ role: "user", content: `Conversation ${conversations}` }];
      for (;;) {
        const reply = await ask(messages);
        messages.push({ role: "assistant", content: reply.content });
        const results = reply.content.flatMap((block) =>
          block.type === "tool_use" ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "Good." }] : [],
        );
        if (results.length === 0) return messages;
        messages.push({ role: "user", content: results });
      }
    },
  };
}

interface SentTool {
  readonly name: string;
  readonly deferred: boolean;
  readonly marked: boolean;
}

function sentTools(): readonly SentTool[] {
  const sent = world.traffic.at(-1)?.body["tools"];
  return (Array.isArray(sent) ? sent : []).filter(isObject).map((tool) => ({
    name: textField(tool, "name") ?? "",
    deferred: tool["defer_loading"] === true,
    marked: tool["cache_control"] !== undefined,
  }));
}
const deferredNames = (): readonly string[] => sentTools().flatMap(({ name, deferred }) => (deferred ? [name] : []));
const lastMessages = (): string => JSON.stringify(world.traffic.at(-1)?.body["messages"]);

describe("tools that a client never calls", () => {
  it("are deferred from its fourth conversation on; their mark for the cache is on the last one that is not", async () => {
    const { converse } = await open();
    const deferred: (readonly string[])[] = [];
    for (let at = 0; at < 4; at += 1) {
      await converse();
      deferred.push(deferredNames());
    }
    expect(deferred).toEqual([[], [], [], ["send_mail", "draw"]]);
    expect(sentTools().map(({ name, marked }) => `${name}${marked ? " marked" : ""}`)).toEqual([
      "read marked",
      "send_mail",
      "draw",
      "recall",
      "find_tools",
    ]);
    expect(world.traffic.every(({ status }) => status === 200)).toBe(true);
  });

  it("are found and called; the client sees the call only, and later conversations have the tool", async () => {
    const { converse } = await open();
    for (let at = 0; at < 3; at += 1) await converse();
    const messages = await converse([call("find_tools", { query: "send a letter" }), call("send_mail"), says("Sent.")]);
    expect(JSON.stringify(messages)).not.toContain("find_tools");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(lastMessages()).toContain('{"type":"tool_reference","tool_name":"send_mail"}');
    expect(deferredNames()).toEqual(["send_mail", "draw"]);
    await converse();
    expect(deferredNames()).toEqual(["draw"]);
    expect(world.traffic.every(({ status }) => status === 200)).toBe(true);
  });

  it("stay deferred for their conversation, whatever is called elsewhere, also after a restart", async () => {
    const { converse, ask } = await open();
    for (let at = 0; at < 3; at += 1) await converse();
    const messages = await converse();
    await converse([call("draw"), call("send_mail")]);
    await world.reopen();
    await ask([...messages, { role: "user", content: "Go on." }]);
    expect(deferredNames()).toEqual(["send_mail", "draw"]);
    await converse();
    expect(deferredNames()).toEqual([]);
  });

  it("are sent whole if the client makes the model call them, or if it is switched off", async () => {
    const { converse, ask } = await open();
    for (let at = 0; at < 4; at += 1) await converse();
    await ask([{ role: "user", content: "Draw." }], {
      model: "claude-haiku-4-5",
      tool_choice: { type: "tool", name: "draw" },
    });
    expect(deferredNames()).toEqual(["send_mail"]);
    await world.close();
    const plain = await open({ reduction: {} });
    for (let at = 0; at < 4; at += 1) await plain.converse();
    expect(deferredNames()).toEqual([]);
  });

  it("take no room in the prompt", async () => {
    const { converse, ask } = await open();
    const first = await ask([{ role: "user", content: "Hello" }]);
    for (let at = 0; at < 3; at += 1) await converse();
    const later = await ask([{ role: "user", content: "Hello again" }]);
    const total = ({ usage }: Anthropic.Beta.BetaMessage): number =>
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    expect(total(later)).toBeLessThan(total(first) - 300);
  });
});

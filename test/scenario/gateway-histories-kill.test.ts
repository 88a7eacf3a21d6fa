import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, expect, it } from "vitest";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { serveSimulator } from "../../packages/simulator/src/http/serve-simulator.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { GatewayProcesses } from "./support/gateway-process.ts";
import { says } from "./support/simulated.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Answers with all that it was shown of the user. */
const echoing: Responder = {
  name: "echoing",
  respond: ({ request }) => {
    const asked = [...JSON.stringify(request.messages).matchAll(/Say (\w+)\./g)].map(([, word]) => word);
    return { move: { kind: "say", blocks: says(asked.join(" ")) } };
  },
};

/** A gateway in a process of its own, and how it is killed and started again. */
async function openGateway() {
  const upstream = await serveSimulator(new Simulator({ responder: echoing, seed: 1 }), { port: 0 });
  if (upstream.kind === "failed") throw new Error(upstream.message);
  const gateways = new GatewayProcesses();
  closers.push(() => upstream.close());
  closers.push(() => gateways.end());
  const folder = await mkdtemp(join(tmpdir(), "histories-kill-"));
  const open = (): Promise<string> => gateways.open({ folder, upstream: upstream.url, contextTokens: undefined });
  let url = await open();
  return {
    gateways,
    get url() {
      return url;
    },
    killAndOpen: async () => {
      await gateways.kill();
      url = await open();
    },
  };
}

/** A client that sends only what is new: it says a word, and gets the reply and its id. */
interface Client {
  readonly name: string;
  ask(url: string, turn: { readonly word: string; readonly previous: string | undefined }): Promise<Got>;
}

interface Got {
  readonly id: string;
  readonly text: string;
}

const threadClient = (form: "stream" | "whole"): Client => ({
  name: `a thread (${form})`,
  ask: async (url, { word, previous }) => {
    const { messages } = new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: url }).beta;
    const params: Anthropic.Beta.MessageCreateParamsNonStreaming = {
      model: "claude-sonnet-5-5",
      max_tokens: 100,
      betas: ["message-threads-2026-08-12"],
      ...(previous === undefined ? { system: "You echo." } : {}),
      thread: previous === undefined ? { type: "create" } : { type: "continue", previous_message_id: previous },
      messages: [{ role: "user", content: `Say ${word}.` }],
    };
    const { id, content } = await (form === "whole" ? messages.create(params) : messages.stream(params).finalMessage());
    return { id, text: content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ") };
  },
});

const responseClient = (form: "stream" | "whole"): Client => ({
  name: `a response (${form})`,
  ask: async (url, { word, previous }) => {
    const { responses } = new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: `${url}/v1` });
    const params = { model: "gpt-5.6-sol", input: `Say ${word}.`, previous_response_id: previous ?? null };
    const { id, output_text } = await (form === "whole"
      ? responses.create(params)
      : responses.stream({ ...params, stream: true }).finalResponse());
    return { id, text: output_text };
  },
});

const clients: readonly Client[] = [
  threadClient("stream"),
  threadClient("whole"),
  responseClient("stream"),
  responseClient("whole"),
];

// Each kill waits for a process to start, which takes ten seconds on a machine that others use.
it(
  "clients that send only what is new go on after kill -9, as soon as they have a reply",
  { timeout: 180_000 },
  async () => {
    const gateway = await openGateway();
    const idByClient = new Map<string, string>();
    for (const words of ["one", "one two", "one two three"]) {
      if (idByClient.size > 0) await gateway.killAndOpen();
      for (const [nth, client] of clients.entries()) {
        const { name } = client;
        const word = `${words.split(" ").at(-1)}${nth}`;
        const { id, text } = await client.ask(gateway.url, { word, previous: idByClient.get(name) });
        expect([name, text]).toEqual([name, words.replaceAll(/\w+/g, (said) => `${said}${nth}`)]);
        idByClient.set(name, id);
      }
    }
    expect([gateway.gateways.kills, gateway.gateways.events]).toEqual([2, []]);
  },
);

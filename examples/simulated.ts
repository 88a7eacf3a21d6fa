import type { ToolCall } from "palimpsest";
import { type Responder, extractResponder, serveSimulator, Simulator, simulatorFetch } from "@palimpsest/simulator";

/** Reads nine files per task, then says that it is done. */
const reader: Responder = {
  name: "reader",
  respond: ({ request }) => {
    const rounds = request.messages.length;
    if (rounds % 10 === 9) return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
    return { move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: { path: `src/${rounds}.ts` } }] } };
  },
};

/** The same, but the smaller model summarises, and the twentieth request is refused as too long, though it fits. */
function refusing(): Responder {
  let requests = 0;
  return {
    name: "refusing",
    respond: (scene) => {
      if (scene.request.model === "claude-haiku-4-5") return extractResponder.respond(scene);
      requests += 1;
      if (requests !== 20) return reader.respond(scene);
      const message = "prompt is too long: 30500 tokens > 30000 maximum";
      return {
        move: { kind: "refuse", refusal: { kind: "refused", status: 400, type: "invalid_request_error", message } },
      };
    },
  };
}

/** Looks an order up, and saves what it is asked to extract as one list of files. */
const shopkeeper: Responder = {
  name: "shopkeeper",
  respond: ({ request }) => {
    const last = JSON.stringify(request.messages.at(-1));
    if (last.includes("save it as memories")) return say(JSON.stringify([rule]));
    if (last.includes("Find the order"))
      return { move: { kind: "say", blocks: [{ type: "tool_use", name: "search_orders", input: {} }] } };
    return say("Understood.");
  },
};
const say = (text: string) => ({ move: { kind: "say" as const, blocks: [{ type: "text" as const, text }] } });
const rule = {
  path: "refunds.md",
  name: "Refunds",
  description: "When to ask before a refund",
  type: "feedback",
  body: "Never refund more than 100 euros without asking.",
};

/** Has four agents look into it, two that know nothing and two forks; each of them answers, a fresh one after reading a file. */
const leader: Responder = {
  name: "leader",
  respond: ({ request }) => {
    const last = JSON.stringify(request.messages.at(-1));
    if (last.includes("fork_task")) return say("As we agreed, the gauge must not change: only its test.");
    if (last.includes("File:"))
      return { move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: { path: "src/gauge.ts" } }] } };
    if (last.includes("Why does the test fail?"))
      return { move: { kind: "say", blocks: agentTasks.map((input) => ({ type: "tool_use", name: "agent", input })) } };
    return say(last.includes("tool_result") ? "The file has one constant." : "Understood.");
  },
};
const agentTasks = [
  { type: "reader", task: "What does the gauge export? File: src/gauge.ts" },
  { type: "reader", task: "What does the test expect? File: test/gauge.test.ts" },
  { type: "fork", task: "What follows from our rules for the gauge?" },
  { type: "fork", task: "What follows from our rules for the test?" },
];

/** Options for a client of the official SDK: a model in this process answers, at no cost. */
const optionsFor = (responder: Responder) => ({
  apiKey: "none",
  maxRetries: 0,
  fetch: simulatorFetch(new Simulator({ responder })),
});

export const simulated = optionsFor(reader);
export const simulatedWithRefusal = optionsFor(refusing());
export const simulatedWithMemories = optionsFor(shopkeeper);
export const simulatedWithAgents = optionsFor(leader);

/** For frameworks that only take the address of a server. */
export async function serveSimulated() {
  const server = await serveSimulator(new Simulator({ responder: reader }), { port: 0 });
  if (server.kind === "failed") throw new Error(server.message);
  return server;
}

/** Your tools. */
export const run = (call: ToolCall): Promise<string> =>
  Promise.resolve(`what ${call.name} gives for ${JSON.stringify(call.input)}`);

import { describe, expect, it } from "vitest";
import { makeBaseline } from "../../packages/palimpsest/src/cache/baseline.ts";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { openaiModel } from "../../packages/palimpsest/src/model/openai/client.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { Json, JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Move } from "../../packages/simulator/src/responder/responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { loggingTool, testAgent } from "../fixture/agent.ts";
import { done, signal, staged, task } from "../fixture/forked.ts";
import { imagePart } from "../fixture/image.ts";
import { append, logBytes, openedForTest, testDeps } from "../fixture/session.ts";
import { playing, says } from "./support/simulated.ts";

/** Whatever a log holds, the next request is one that the API takes: nothing in it ends the session. */

interface Said extends Draft {
  readonly message: JsonObject & { readonly content: readonly JsonObject[] };
}
const user = (...content: readonly JsonObject[]): Said => ({ type: "user", message: { role: "user", content } });
const assistant = (...content: readonly JsonObject[]): Said => ({
  type: "assistant",
  message: { id: "msg_1", role: "assistant", model: "test-model", content },
});
const text = (words: string, more: JsonObject = {}): JsonObject => ({ type: "text", text: words, ...more });
const call = (more: JsonObject = {}): JsonObject => ({ type: "tool_use", id: "t1", name: "look", input: {}, ...more });
const result = (content: Json, more: JsonObject = {}): JsonObject => ({
  type: "tool_result",
  tool_use_id: "t1",
  content,
  ...more,
});
const document = (source: JsonObject): JsonObject => ({ type: "document", source });
const search: JsonObject = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
const served: JsonObject = { type: "mcp_tool_use", id: "mcptoolu_1", name: "look", server_name: "s", input: {} };
const searched: JsonObject = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };

/** A session of one round with these blocks, and what became of its next turn. */
async function goOn(...drafts: readonly Draft[]): Promise<{ readonly end: string; readonly log: string }> {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, ...drafts);
  const agent = testAgent({ deps, session, simulator: new Simulator({ responder: playing(says("fine")) }) });
  const end = endOf(await agent.turn("Go on."));
  return { end, log: new TextDecoder().decode(await logBytes(deps)) };
}

function endOf(events: readonly LoopEvent[]): string {
  const end = events.at(-1);
  return end?.kind === "turn-end" ? `${end.reason} ${end.message ?? ""}`.trim() : "no end";
}

const round = (called: JsonObject, ...answer: readonly JsonObject[]): readonly Said[] => [
  user(text("look")),
  assistant(called),
  user(...answer),
];

const half = "\uD83D";
const rows: readonly (readonly [string, readonly Said[]])[] = [
  ["half a character in a message", [user(text(`a ${half}`))]],
  ["half a character in a reply", [user(text("a")), assistant(text(half)), user(text("b"))]],
  ["half a character in a call's input", round(call({ input: { path: half } }), result("ok"))],
  ["half a character in a key of a call's input", round(call({ input: { [half]: 1 } }), result("ok"))],
  ["half a character in a call's name", round(call({ name: `look${half}` }), result("ok"))],
  ["half a character in a result", round(call(), result(half))],
  ["half a character in a part of a result", round(call(), result([text(half)]))],
  ["half a character in a call's id", round(call({ id: half }), result("ok", { tool_use_id: half }))],
  ["a call's name that no tool may have", round(call({ name: "functions.look at" }), result("ok"))],
  ["a call's name that is too long", round(call({ name: "look".repeat(50) }), result("ok"))],
  ["a misspelt key of a text", [user(text("a", { citatIons: 1 }))]],
  ["a field of a text that is of another type", [user(text("a", { citations: 1 }))]],
  ["a citation of a text that is wrong", [user(text("a")), assistant(text("b", { citations: [{ type: "x" }] }))]],
  ["a misspelt key of a call", round(call({ inpUt: {}, caller: "me" }), result("ok"))],
  ["a misspelt key of a result", round(call(), result("no", { is_errOr: true, is_error: "yes" }))],
  ["a misspelt key in a part of a result", round(call(), result([text("a", { foo: 1 })]))],
  ["a part of a result without its text", round(call(), result([{ type: "text", txet: "a" }]))],
  ["a part of a result of no known type", round(call(), result([{ type: "hologram", data: "x" }]))],
  ["a marker in a part of a result", round(call(), result([1, 2, 3, 4, 5].map((n) => markedText(`${n}`))))],
  ["a misspelt key of a search result", [user({ ...found("a"), soUrce: 1 })]],
  ["a search result without a source", [user(text("a"), { type: "search_result", content: [], title: "t" })]],
  ["a marker inside a search result", [user(found("a", { cache_control: { type: "ephemeral" } }))]],
  ["an upload without its file", [user(text("a"), { type: "container_upload" })]],
  ["a block of no known type", [user(text("a"), { type: "hologram" })]],
  ["a server's call with a misspelt key", [user(text("a")), assistant({ ...search, quEry: 1 }, searched)]],
  [
    "a call of a tool server by the provider",
    [user(text("a")), assistant(served, { type: "mcp_tool_result", tool_use_id: "mcptoolu_1" })],
  ],
  ["a role that is none", [{ type: "user", message: { role: "usEr", content: [text("a")] } }]],
  ["an image that is no base64", [user(imagePart({ data: "[redacted]" }))]],
  ["an image that is a text", [user(imagePart({ data: base64("hello ".repeat(20)) }))]],
  ["an image of another type than it says", [user(imagePart({ mediaType: "image/jpeg" }))]],
  ["an image of a type that no model is shown", round(call(), result([imagePart({ mediaType: "image/bmp" })]))],
  ["an image without a source", round(call(), result([{ type: "image" }]))],
  ["an image with a key that it has not", [user({ ...imagePart(), detail: "high" })]],
  ["a PDF that is no base64", [user(document({ type: "base64", media_type: "application/pdf", data: "[redacted]" }))]],
  ["a PDF that is a text", round(call(), result([pdfOf("hello")]))],
  [
    "a document of a type that no model is shown",
    [user(document({ type: "base64", media_type: "a/b", data: "aaaa" }))],
  ],
  [
    "a document that holds an image that is none",
    [user(document({ type: "content", content: [imagePart({ data: "x" })] }))],
  ],
];

function markedText(words: string): JsonObject {
  return text(words, { cache_control: { type: "ephemeral" } });
}
function found(words: string, more: JsonObject = {}): JsonObject {
  return { type: "search_result", source: "s", title: "t", content: [text(words, more)] };
}
function base64(words: string): string {
  return Buffer.from(words).toString("base64");
}
function pdfOf(words: string): JsonObject {
  return document({ type: "base64", media_type: "application/pdf", data: base64(words) });
}

describe("a session that holds", () => {
  it.each(rows)("%s goes on, and its log keeps it as it is", async (_, drafts) => {
    const { end, log } = await goOn(...drafts);
    expect(end).toBe("answered");
    for (const { message } of drafts) expect(log).toContain(JSON.stringify(message.content));
  });
});

describe("half a character that the model writes", () => {
  const looks = (rawInput: string): Move => ({
    kind: "say",
    blocks: [{ type: "tool_use", name: "look", input: {}, rawInput }],
  });
  const forms = [
    ["a model of the Messages API", "claude-sonnet-5", anthropicModel],
    ["a model behind chat completions", "gpt-4o", openaiModel],
  ] as const;

  it.each(forms)("into a call's input ends no session: %s", async (_, model, client) => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const responder = playing(looks(String.raw`{"path":"\ud83d","\ude00":1}`), says("Done."));
    const fetch = simulatorFetch(new Simulator({ responder }));
    const look = loggingTool("look", { effect: "read", log: { runs: [], most: 0 } });
    const port = client({ apiKey: "sk-test", fetch, now: deps.now, uuid: deps.uuid });
    const agent = testAgent({ deps, session, simulator: new Simulator(), model, tools: [look], over: { model: port } });
    expect(endOf(await agent.turn("Look."))).toBe("answered");
    expect(endOf(await agent.turn("Go on."))).toBe("answered");
    expect(new TextDecoder().decode(await logBytes(deps))).toContain(String.raw`{"path":"\ud83d","\ude00":1}`);
  });

  it("ends none from the system prompt and a tool's description either", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const tools = [{ name: "look", description: half, input_schema: { type: "object" } }];
    const system = [{ name: "prompt", text: `Help. ${half}` }];
    const baseline = makeBaseline({ model: "claude-sonnet-5", betas: [], tools, system });
    const simulator = new Simulator({ responder: playing(says("Done.")) });
    const agent = testAgent({ deps, session, simulator, parts: { baseline } });
    expect(endOf(await agent.turn("Look."))).toBe("answered");
  });

  it("ends no fork", async () => {
    const { agent, forks } = await staged({ plays: [{ move: done }] });
    expect(endOf(await agent.turn(half))).toBe("answered");
    expect(await forks.run(task(`Note it. ${half}`), signal)).toMatchObject({ kind: "answered" });
  });
});

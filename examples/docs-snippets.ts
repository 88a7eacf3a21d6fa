/**
 * The snippets of the docs, word for word. Nothing is sent anywhere: the clients reach the simulator, and what is written
 * goes to a temporary folder. `test/docs-snippets.test.ts` compares and runs it.
 */
/* oxlint-disable eslint/no-shadow -- each snippet has the names that it has on its page. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import {
  CassettePlayer,
  CassetteRecorder,
  FaultChoice,
  formatScenarioProblem,
  readScenario,
  type Responder,
  scriptResponder,
  Simulator,
  simulatorFetch,
  TraceWriter,
} from "@palimpsest/simulator";
import { wrapLanguageModel } from "ai";
import { countTokens } from "gpt-tokenizer";
import { createAgent, tool } from "langchain";
import OpenAI from "openai";
import {
  type Context,
  deleteSessions,
  fileStore as openFileStore,
  getPreset,
  millis,
  openContext,
  previewDeletion,
  readInstructions,
  sessionId,
} from "palimpsest";
import { contextMiddleware as aiSdkMiddleware } from "palimpsest/ai-sdk";
import { withContext } from "palimpsest/anthropic";
import { contextMiddleware as langchainMiddleware } from "palimpsest/langchain";
import { withContext as withOpenaiContext } from "palimpsest/openai";
import { fileStore } from "palimpsest/store/files";
import { z } from "zod";
import { run, simulated } from "./simulated.ts";

const repository = join(import.meta.dirname, "..");
process.chdir(mkdtempSync(join(tmpdir(), "snippets-")));
process.env["PALIMPSEST_HOME"] = join(process.cwd(), "home");
process.env["ANTHROPIC_API_KEY"] = "none";
process.env["OPENAI_API_KEY"] = "none";
globalThis.fetch = simulated.fetch;

const system = "You fix tests.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

const trim = (list: Anthropic.MessageParam[]) => Promise.resolve(list.slice(-10));

/** The shortest loop: no tools are run. */
async function answer(context: Context<"anthropic">): Promise<void> {
  const client = new Anthropic();
  const request = await context.next();
  await context.assistant(await client.messages.create(request.params));
}

await readmeOfPalimpsest();
await readmeOfSimulator();
await coming();
await library();
await adapters();
await simulators();

async function readmeOfPalimpsest(): Promise<void> {
  const client = new Anthropic();
  const context = await openContext({ model: "claude-sonnet-5-5", system, tools, store: fileStore() });

  await context.user("Fix the failing test");
  for (;;) {
    const request = await context.next(); // it fits, always
    const calls = await context.assistant(await client.messages.create(request.params));
    if (calls.length === 0) break;
    for (const call of calls) await context.toolResult(call.id, await run(call));
  }
  console.log(context.receipts(), context.costs());
  await context.close();
}

async function readmeOfSimulator(): Promise<void> {
  const client = new Anthropic({ apiKey: "none", fetch: simulatorFetch(new Simulator()) });
  const reply = await client.messages.create({
    model: "claude-sonnet-5-5",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hello" }],
  });
  console.log(reply.stop_reason);
}

async function coming(): Promise<void> {
  const client = new Anthropic();
  const model = "claude-sonnet-5-5";
  const max_tokens = 1000;
  const text = "Hello";
  const messages: Anthropic.MessageParam[] = [];
  const context = await openContext({ model });
  // before
  messages.push({ role: "user", content: text });
  const reply = await client.messages.create({ model, system, tools, max_tokens, messages: await trim(messages) });
  messages.push({ role: "assistant", content: reply.content });

  // after
  await context.user(text);
  const request = await context.next();
  const calls = await context.assistant(await client.messages.create(request.params));
  console.log(calls.length);
  await context.close();
}

async function library(): Promise<void> {
  const client = new Anthropic();
  const folder = join(process.cwd(), "sessions");
  {
    const context = await openContext({
      model: "claude-sonnet-5-5",
      summarizer: ({ params, signal }) => client.messages.create(params, { signal }),
    });
    await context.user("Hello");
    await answer(context);
    const tasks = ["Check the parser.", "Check the printer.", "Check the tests."];
    const forks = await Promise.all(tasks.map((task) => context.fork({ task })));
    const reports = await Promise.all(forks.map((fork) => answer(fork))); // your loop: next, send, assistant, toolResult …
    console.log(context.costs().byAgent);
    console.log(reports.length);
    await context.close();
  }
  {
    const patient = { ...getPreset("palimpsest"), name: "patient", clear: {} };
    const context = await openContext({ model: "claude-sonnet-5-5", policy: patient });
    await context.close();
  }
  {
    const context = await openContext({ model: "gpt-5.6", provider: "openai-chat", tokenCounter: countTokens });
    await context.close();
  }
  {
    const context = await openContext({ model: "claude-sonnet-5-5", session: "s1", store: openFileStore({ folder }) });
    await context.user("Hello");
    await context.close();
    const opened = await fileStore({ folder }).open();
    if (opened.kind === "open" && opened.deletion !== undefined) {
      const deps = { deletion: opened.deletion, garbage: opened.garbage, now: () => millis(Date.now()) };
      const { bytes, blobs } = await previewDeletion(deps, { session: sessionId("s1") });
      const { deleted, refused } = await deleteSessions(deps, { sessions: [sessionId("s1")] });
      console.log(bytes, blobs, deleted, refused);
    }
  }
  {
    const { system, problems } = await readInstructions();
    const context = await openContext({ model: "claude-sonnet-5-5", system: ["You fix tests.", ...system] });
    console.log(problems);
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Hello" }];
    const request = await context.sync(messages); // params, betas and tokens as from next(); sync: what was found
    const reply = await client.messages.create(request.params);
    await context.assistant(reply); // optional: the next list has it, but without its usage
    await context.sync(messages, { unchanged: 400 }); // the first 400 are those of the previous call
    await context.close();
  }
}

async function adapters(): Promise<void> {
  {
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Hello" }];
    const client = withContext(new Anthropic(), { contextTokens: 200_000 });
    const reply = await client.messages.create({ model: "claude-sonnet-5-5", max_tokens: 4_000, tools, messages });
    console.log(reply.stop_reason);
    await client.closeContext();
  }
  {
    const tools: OpenAI.Responses.FunctionTool[] = [];
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Hello" }];
    const withContext = withOpenaiContext;
    const client = withContext(new OpenAI(), { provider: "openai-responses" });
    const { output } = await client.responses.create({ model: "gpt-5", tools, input, store: false });
    console.log(output.length);
    await client.closeContext();
  }
  {
    const contextMiddleware = aiSdkMiddleware;
    const middleware = contextMiddleware({ contextTokens: 200_000 });
    const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware });
    console.log(model.modelId);
  }
  {
    const read = tool(({ path }) => path, { name: "read", schema: z.object({ path: z.string() }) });
    const contextMiddleware = langchainMiddleware;
    const middleware = contextMiddleware({ contextTokens: 200_000 });
    const agent = createAgent({ model: "anthropic:claude-sonnet-5-5", tools: [read], middleware: [middleware] });
    console.log(agent.options.tools?.length);
  }
}

async function simulators(): Promise<void> {
  {
    const model = "claude-sonnet-5-5";
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Hello" }];
    const recorder = await CassetteRecorder.open({ folder: "cassettes" });
    const client = new Anthropic({ fetch: recorder.fetch }); // each request goes where it would have gone
    await client.messages.create({ model, max_tokens: 1_000, messages });
    await recorder.idle(); // everything is on disk

    const opening = await CassettePlayer.open({ folder: "cassettes" });
    if (opening.kind === "absent") throw new Error("nothing was recorded");
    const replayed = new Anthropic({ apiKey: "any", fetch: opening.player.fetch });
    console.log(replayed.apiKey);
  }
  {
    const inProcess = new OpenAI({ apiKey: "any", fetch: simulatorFetch(new Simulator()) });
    const overHttp = new OpenAI({ apiKey: "any", baseURL: "http://127.0.0.1:8787/v1" });
    console.log(inProcess.baseURL, overHttp.baseURL);
  }
  {
    const simulator = new Simulator({ seed: 1 });
    const client = new Anthropic({ apiKey: "any", fetch: simulatorFetch(simulator) });
    simulator.clock.advance(5 * 60_000); // five minutes later, the cache is cold
    console.log(client.apiKey);
  }
  {
    process.chdir(join(repository, "examples/scenarios"));
    const faults = new FaultChoice({ seed: 1, faults: [] });
    const trace = new TraceWriter({ write: () => Promise.resolve() });
    const reading = await readScenario("failing-test.yaml");
    if (reading.kind !== "scenario") throw new Error(reading.problems.map(formatScenarioProblem).join("\n"));
    const simulator = new Simulator({ responder: scriptResponder(reading.scenario), faults, trace });
    console.log(simulator.clock.now());
  }
  {
    const responder: Responder = {
      name: "polite",
      respond: ({ request }) => ({
        move: { kind: "say", blocks: [{ type: "text", text: `Thank you for ${request.messages.length} messages.` }] },
      }),
    };
    console.log(new Simulator({ responder }).clock.now());
  }
}

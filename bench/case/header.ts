import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { renderDefinition } from "../../packages/cli/src/tool/mcp/known-server.ts";
import { openNet } from "../../packages/cli/src/tool/web/get-page.ts";
import { noUser } from "../../packages/palimpsest/src/ports/user-port.ts";
import type { OfferedTool } from "../../packages/palimpsest/src/ports/tool-server.ts";
import type { MessagesRequest } from "../../packages/palimpsest/src/schema/wire/messages-request.ts";
import { countTokens, countToolTokens } from "../../packages/simulator/src/prompt/count-tokens.ts";
import { connectTo, fakeServer } from "../../test/fixture/tool-servers.ts";
import type { BenchCase, Figure } from "../measure.ts";

/**
 * The tokens of what every request of our own agent carries besides the conversation, by part. Each limit is a tenth
 * over what was measured when it was set: whoever needs more raises it, and says why. Memory took 284 tokens of the prompt
 * and, with the filters of `recall`, 438 of the definitions.
 */
export const headerCase: BenchCase = {
  name: "header",
  run: async () => {
    const bare = measure(await firstRequest("nothing"));
    const full = measure(await firstRequest("everything"));
    const definitions = server.tools.map((tool) => countTokens(renderDefinition({ server: "server-0", tool })));
    const deferred = serverCount * sum(definitions);
    const detail = "a chat in an empty folder";
    const setup = `${skillCount} skills, ${serverCount} MCP servers of ${toolsPerServer} tools`;
    return [
      figure({ name: "system prompt and environment", tokens: bare.system, limit: 1_410, detail }),
      figure({
        name: "tool definitions",
        tokens: bare.tools,
        limit: 2_826,
        detail: `${detail}: ${bare.toolCount} tools`,
      }),
      figure({ name: "the whole header", tokens: bare.system + bare.tools, limit: 4_236, detail }),
      figure({
        name: "added for an instruction file, besides its text",
        tokens: full.instructions - countTokens(instructions),
        limit: 17,
        detail: "its path and scope",
      }),
      figure({
        name: `added for ${setup}`,
        tokens: full.tools - bare.tools,
        limit: 339,
        detail: "skill, tool_search, use_tool",
      }),
      figure({
        name: "announced once: skills",
        tokens: full.skills,
        limit: 517,
        detail: `${skillCount}, 150 characters each`,
      }),
      figure({
        name: "announced once: MCP servers",
        tokens: full.servers,
        limit: 1_259,
        detail: `names and the beginning of instructions; ${deferred} tokens of definitions are deferred`,
      }),
      figure({
        name: "the largest MCP server that would be cheaper direct",
        tokens: directTokensMax(recorded),
        detail: `at recorded use; the smallest definition here has ${Math.min(...definitions)}, one server ${deferred / serverCount}`,
      }),
    ];
  },
};

const figure = ({ tokens, ...rest }: Omit<Figure, "value" | "unit"> & { readonly tokens: number }): Figure => ({
  ...rest,
  value: tokens,
  unit: "tokens",
});

const [skillCount, serverCount, toolsPerServer] = [10, 5, 20];
const sentence = "What it is for, when it should be used and what has to be known about it beforehand. ";
const instructions = `# Rules\n\n${`- ${sentence}\n`.repeat(20)}`;
const server = fakeServer({
  instructions: sentence.repeat(20),
  tools: Array.from({ length: toolsPerServer }, (_, at) => offeredTool(at)),
});

/** Each has one parameter more than the one before, up to five. */
function offeredTool(at: number): OfferedTool {
  const names = ["id", "title", "body", "limit", "order"].slice(0, 1 + (at % 5));
  return {
    name: `list_items_${at}`,
    description: sentence.repeat(1 + (at % 3)),
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string", description: sentence }])),
      required: names.slice(0, 1),
    },
  };
}

interface FirstRequest {
  readonly request: MessagesRequest;
  /** The agent's folder. */
  readonly work: string;
}

/** The first request of a chat's agent, as the provider gets it. */
async function firstRequest(setup: "nothing" | "everything"): Promise<FirstRequest> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "palimpsest-bench-")));
  try {
    const [home, work] = [join(base, "home"), join(base, "work")];
    await Promise.all([mkdir(home), mkdir(work)]);
    if (setup === "everything") await writeEverything(home, work);
    return { request: await requestFrom(home, work), work };
  } finally {
    await rm(base, { recursive: true, force: true, maxRetries: 3 });
  }
}

const serverNames = Array.from({ length: serverCount }, (_, at) => `server-${at}`);

async function writeEverything(home: string, work: string): Promise<void> {
  const mcpServers = Object.fromEntries(serverNames.map((name) => [name, { command: name }]));
  await writeFile(join(home, "settings.json"), JSON.stringify({ mcpServers }));
  await writeFile(join(work, "AGENTS.md"), instructions);
  for (let at = 0; at < skillCount; at += 1) {
    const folder = join(home, "skills", `skill-${at}`);
    await mkdir(folder, { recursive: true });
    const description = sentence.repeat(2).slice(0, 150);
    await writeFile(join(folder, "SKILL.md"), `---\nname: skill-${at}\ndescription: ${description}\n---\nDo it.\n`);
  }
}

/** With everything that the chat gives its agent. */
async function requestFrom(home: string, work: string): Promise<MessagesRequest> {
  const requests: MessagesRequest[] = [];
  const agent = await openAgent({
    env: { PALIMPSEST_HOME: home, HOME: home, PATH: process.env["PATH"] },
    cwd: work,
    version: "0.0.0",
    flags: [{ flag: "model", text: "claude-sonnet-5" }],
    session: { kind: "new" },
    model: {
      kind: "simulator",
      seed: 1,
      responder: {
        name: "bench",
        respond: ({ request }) => {
          requests.push(request);
          return { move: { kind: "say", blocks: [{ type: "text", text: "Hello." }] } };
        },
      },
    },
    tools: { allow: [], deny: [] },
    user: noUser,
    planReview: { review: () => Promise.resolve({ kind: "nobody" }) },
    net: openNet,
    jobs: "on",
    connectServer: connectTo(Object.fromEntries(serverNames.map((name) => [name, server]))),
  });
  if (agent.kind !== "agent") throw new Error(agent.kind);
  await agent.serversSettled();
  const events: string[] = [];
  for await (const { kind } of agent.turn("Hello.", new AbortController().signal)) events.push(kind);
  await agent.close();
  const [first] = requests;
  if (first === undefined) throw new Error(`there was no request, only ${events.join(", ")}`);
  return first;
}

function measure({ request, work }: FirstRequest) {
  const { system, tools, messages } = request;
  const pieces = typeof system === "string" ? [system] : (system ?? []).map(({ text }) => text);
  // The name of the temporary folder must not change the figures.
  const systemTexts = pieces.map((text) => text.replaceAll(work, "/work"));
  const messageTexts = messages.flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.flatMap((block) => (block.type === "text" ? [block.text] : [])),
  );
  const countTextsWith = (words: string): number =>
    sum(messageTexts.filter((text) => text.includes(words)).map(countTokens));
  return {
    system: sum(systemTexts.filter((text) => !isInstruction(text)).map(countTokens)),
    instructions: sum(systemTexts.filter(isInstruction).map(countTokens)),
    tools: sum((tools ?? []).map(countToolTokens)),
    toolCount: tools?.length ?? 0,
    skills: countTextsWith("These skills are there"),
    servers: countTextsWith("Tools of MCP servers:"),
  };
}

const isInstruction = (text: string): boolean => text.startsWith("# Instructions from");

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** What 25 recorded sessions of Claude Code have: 53 servers in 10 of them, of which 3 were called. */
const recorded = { useShare: 3 / 53, contextTokens: 93_055, rounds: 82 };

/**
 * The size at which a server's definitions cost as much in every request as behind a search, in prices of an input
 * token. Direct, they are written once and read in each round. Deferred, only sessions that use the server pay: a round
 * that reads the context and writes the call, and the definitions from halfway on.
 */
function directTokensMax({ useShare, contextTokens, rounds }: typeof recorded): number {
  const [write, read, output, callTokens] = [1.25, 0.1, 5, 60];
  const searchRound = contextTokens * read + callTokens * output;
  return (useShare * searchRound) / (write + rounds * read - useShare * (write + (rounds / 2) * read));
}

import { z } from "zod";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tools";
import { isObject, type JsonObject, parseJson, text } from "palimpsest/internal/schema/json";
import { defineTool, failed, wrong } from "../define.ts";
import { foundText, noToolText, offers, ruleNameOf, searchTools } from "./catalogue.ts";
import { searchToolName } from "./discovered.ts";
import { answerShownCharsMax, queryCharsMax, toolNameCharsMax } from "./limits.ts";
import { outcomeOf } from "./result.ts";
import type { ToolServerCall, ToolServers } from "./servers.ts";

export interface ServerToolDeps {
  readonly servers: ToolServers;
}

/*
 * Two tools stand for all that servers offer. Definitions in the header would cost their tokens in every request, and a
 * server that starts late or changes its list would break the cache of the whole conversation; a definition that a search
 * gave stands in the messages, behind what is cached. It also needs nothing that only one provider's API can do.
 */

/** Looks only into what servers have told already: nobody's leave is needed. */
export const toolSearchTool = ({ servers }: ServerToolDeps): Tool =>
  defineTool({
    name: searchToolName,
    description: "Find tools of MCP servers by words, with their descriptions and inputs, to call them with use_tool.",
    input: z.strictObject({
      query: z.string().min(1).max(queryCharsMax).describe("Words of the name or of what it does."),
    }),
    effect: "read",
    resultCharsMax: answerShownCharsMax,
    plan: async ({ query }) => ({
      kind: "ready",
      acts: [],
      run: async () => {
        const known = servers.known();
        const search = searchTools(known, query);
        const summary = search.found.map(({ server, tool }) => `${server}: ${tool.name}`).join(", ") || "none";
        return { content: foundText(search, known), summary };
      },
    }),
  });

const input = z.strictObject({
  server: z.string().min(1).describe("Its name."),
  tool: z.string().min(1).max(toolNameCharsMax).describe("Its name, as tool_search gives it."),
  input: z.looseObject({}).optional().describe("As the tool's definition asks for."),
});

export const useToolName = "use_tool";

export const useToolTool = ({ servers }: ServerToolDeps): Tool => ({
  ...defineTool({
    name: useToolName,
    description: "Call a tool of an MCP server. Look at its definition with tool_search first.",
    input,
    effect: "write",
    resultCharsMax: answerShownCharsMax,
    plan: async ({ server, tool, input: given = {} }) => {
      const names = servers.names();
      if (!names.includes(server))
        return wrong(`use_tool: there is no server ${server}; there are ${names.join(", ") || "none"}`);
      // Before anybody is asked about it. One that is still being started is looked at when it is called.
      const missing = missingTool(servers, { server, tool });
      if (missing !== undefined) return wrong(`use_tool: ${missing}`);
      const call = { server, tool, input: asJson(given) };
      return {
        kind: "ready",
        acts: [{ kind: "mcp", server, tool }],
        run: async (signal) => called({ servers, call, signal }),
      };
    },
  }),
  knownAs: (given) => {
    const [server, tool] = [text(given, "server"), text(given, "tool")];
    return server === undefined || tool === undefined ? undefined : ruleNameOf(server, tool);
  },
});

/** What came as JSON is JSON; the schema only says that it is an object. */
function asJson(given: Readonly<Record<string, unknown>>): JsonObject {
  const json = parseJson(JSON.stringify(given));
  if (!isObject(json)) throw new TypeError("an object is an object");
  return json;
}

function missingTool(servers: ToolServers, { server, tool }: Omit<ToolServerCall, "input">): string | undefined {
  const known = servers.known().find(({ name }) => name === server);
  return known === undefined || offers(known, tool) ? undefined : noToolText(server, tool);
}

interface Calling extends ServerToolDeps {
  readonly call: ToolServerCall;
  readonly signal: AbortSignal;
}

async function called({ servers, call, signal }: Calling): Promise<ToolOutcome> {
  const { server, tool } = call;
  const answer = await servers.call(call, signal);
  switch (answer.kind) {
    case "answer":
      return outcomeOf({ name: ruleNameOf(server, tool), answer });
    case "failed":
      return failed(`${ruleNameOf(server, tool)} was not done, or not to its end: ${answer.why}`);
  }
}

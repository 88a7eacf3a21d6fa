import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { builtInDefinitions } from "../packages/palimpsest/src/layers/7-agents/built-in-definitions.ts";
import { forkAgents } from "../packages/palimpsest/src/ports/agents.ts";
import { refusedCompactionRequests } from "../packages/palimpsest/src/ports/compaction-requests.ts";
import { forkJobs } from "../packages/palimpsest/src/ports/jobs.ts";
import { noUser } from "../packages/palimpsest/src/ports/user-port.ts";
import { forkPlanMode } from "../packages/palimpsest/src/ports/plan-mode.ts";
import type { Tool } from "../packages/palimpsest/src/ports/tool.ts";
import { field, isArray, isObject, type Json, type JsonObject } from "../packages/palimpsest/src/schema/json.ts";
import { countToolTokens } from "../packages/simulator/src/prompt/count-tokens.ts";
import { refuseMemory } from "../packages/cli/src/tool/memory-tool.ts";
import { ToolServers } from "../packages/cli/src/tool/mcp/tool-servers.ts";
import { teammateAddress } from "../packages/palimpsest/src/schema/agent-address.ts";
import { refuseMessages } from "../packages/cli/src/tool/send-message-tool.ts";
import { refuseTasks } from "../packages/cli/src/tool/task-tool.ts";
import { refuseTeam } from "../packages/cli/src/tool/team-tool.ts";
import { builtinTools } from "../packages/cli/src/tool/builtin-tools.ts";
import { openNet, PageCache } from "../packages/cli/src/tool/web/get-page.ts";
import { filledPage, type Row } from "./doc-tables.ts";

/**
 * The inputs in docs/tools.md come from the schemas that the model gets. `node scripts/tools-doc.ts` writes them; a test fails
 * if the page differs.
 */
export const toolsPage = resolve(import.meta.dirname, "../docs/tools.md");

export function withInputs(page: string): string {
  const size = /[\d,]+(?= tokens in all)/;
  if (!size.test(page)) throw new Error("the page has no place for the size of the definitions");
  const filled = filledPage(page, { inputs: [["tool", "input", "value", "needed", "meaning"], ...inputRows()] });
  return filled.replace(size, definitionsTokens().toLocaleString("en-US"));
}

const noServers = new ToolServers(
  { connect: async () => ({ kind: "failed", why: "" }), env: {}, hash: (value) => value, wait: async () => undefined },
  { definitions: [], shownAnnouncement: () => undefined },
);

/** Only their definitions are used: they cannot be called. */
const tools: readonly Tool[] = builtinTools({
  isShown: () => false,
  mayRead: () => false,
  roots: [],
  home: "/",
  env: {},
  shell: { kind: "sh", path: "/bin/sh" },
  shellState: { cwd: undefined },
  todos: { list: [] },
  expand: async () => ({ kind: "missing", why: "nothing is kept" }),
  search: async () => undefined,
  memory: refuseMemory(""),
  compactionRequests: refusedCompactionRequests,
  skills: { find: async () => ({ skills: [], problems: [] }), mayRead: () => false },
  planning: forkPlanMode,
  web: { net: openNet, pages: new PageCache() },
  user: noUser,
  jobs: forkJobs,
  servers: noServers,
  agents: { agents: forkAgents, types: builtInDefinitions, places: "both" },
  messages: refuseMessages(""),
  teamTasks: refuseTasks("", teammateAddress("name", "team")),
  team: refuseTeam(""),
});

const definitionsTokens = (): number =>
  tools
    .map(({ name, description, inputSchema }) => countToolTokens({ name, description, input_schema: inputSchema }))
    .reduce((sum, tokens) => sum + tokens, 0);

const inputRows = (): readonly Row[] =>
  tools.flatMap(({ name, inputSchema }) => rowsOf(inputSchema, { tool: name, above: "" }));

interface Place {
  readonly tool: string;
  /** The path of the enclosing field, such as `todos[].`. */
  readonly above: string;
}

function rowsOf(schema: JsonObject, { tool, above }: Place): readonly Row[] {
  const required = field(schema, "required");
  const properties = field(schema, "properties");
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([key, value]): readonly Row[] => {
    if (!isObject(value)) return [];
    const needed = isArray(required) && required.includes(key) ? "yes" : "";
    // A name that says it all needs no description.
    const meaning = text(field(value, "description") ?? "").replaceAll(/[^\s,;]*\*[^\s,;]*[^\s,;.]/g, code);
    const row = [code(tool), code(`${above}${key}`), describeValue(value), needed, meaning];
    const items = field(value, "items");
    return [row, ...(isObject(items) ? rowsOf(items, { tool, above: `${above}${key}[].` }) : [])];
  });
}

function describeValue(schema: JsonObject): string {
  const choices = field(schema, "enum");
  if (isArray(choices)) return choices.map((choice) => code(text(choice))).join(", ");
  const type = text(field(schema, "type"));
  switch (type) {
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    case "integer":
      return "whole number";
    case "array":
      return "list";
    case "object":
      return "object";
    default:
      throw new Error(`the page has no words for a ${type}`);
  }
}

function text(value: Json | undefined): string {
  if (typeof value !== "string") throw new Error("every input says what it is");
  return value;
}

function code(word: string): string {
  return `\`${word}\``;
}

if (import.meta.main) writeFileSync(toolsPage, withInputs(readFileSync(toolsPage, "utf8")));

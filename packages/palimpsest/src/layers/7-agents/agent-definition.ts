import { isAgentName } from "../../schema/agent-address.ts";
import { agentNameCharsMax } from "../../schema/limits.ts";
import {
  type FrontField,
  readFrontFields,
  readFrontList,
  readFrontText,
  splitFrontMatter,
} from "../../text/front-matter.ts";
import { oneLine } from "../../text/to-printable.ts";
import { clipText } from "../clip-text.ts";
import { definitionDescriptionCharsMax, definitionFrontCharsMax, definitionToolsMax } from "./limits.ts";

/** A type of agent: what it is for, how it works and what it may do at most. Its parent may do at least as much. */
export interface AgentDefinition {
  readonly name: string;
  /** When to use it, in one line: the model chooses by it. */
  readonly description: string;
  /** Its part of the system prompt. */
  readonly prompt: string;
  /** Our names of tools, and `mcp__…` names of servers' tools, with `*` as a wildcard. Absent: all that its parent has. */
  readonly tools?: readonly string[] | undefined;
  /** Likewise; counts more than `tools`. */
  readonly disallowedTools?: readonly string[] | undefined;
  /** Rules like `Bash(git push:*)` for what it may not do with the tools that it has. */
  readonly denyRules?: readonly string[] | undefined;
  /** As written: a model's name, or a family like `sonnet`. Absent: its parent's. See `resolveAgentModel`. */
  readonly model?: string | undefined;
  /** Whose memory it keeps from one run to the next. Absent: none. */
  readonly memory?: AgentMemoryScope | undefined;
  /** Absent: its parent's. */
  readonly permissionMode?: AgentPermissionMode | undefined;
  readonly source: DefinitionSource;
}

/** `user`: for all projects. `project`: checked in with it. `local`: of this project, on this machine. */
export type AgentMemoryScope = (typeof agentMemoryScopes)[number];
export const agentMemoryScopes = ["user", "project", "local"] as const;

/** As settings name them. */
export type AgentPermissionMode = (typeof agentPermissionModes)[number];
const agentPermissionModes = ["default", "acceptEdits", "plan", "bypassPermissions"] as const;

export type DefinitionSource =
  | { readonly kind: "built-in" }
  /** `path`: of its file. */
  | { readonly kind: "user" | "project"; readonly path: string };

/** `why` and `warnings`: a sentence each for the user, without the file's name. */
export type ParsedDefinition =
  | { readonly kind: "definition"; readonly definition: AgentDefinition; readonly warnings: readonly string[] }
  | { readonly kind: "refused"; readonly why: string };

/** The name that stands for a copy of the conversation. */
export const forkTypeName = "fork";

/** Markdown with front matter, as in `.claude/agents/reviewer.md`. What is unknown is reported, never guessed wider. */
export function parseAgentDefinition(text: string, source: DefinitionSource): ParsedDefinition {
  const front = splitFrontMatter(text);
  if (front === undefined)
    return refuse("it does not begin with front matter: write name and description between two lines of ---");
  if (front.lines.join("\n").length > definitionFrontCharsMax)
    return refuse(`its front matter is longer than ${definitionFrontCharsMax} characters: put the text below it`);
  const fieldByKey = new Map<string, FrontField>();
  const warnings: string[] = [];
  for (const field of readFrontFields(front.lines)) {
    if (fieldByKey.has(field.key)) warnings.push(`${field.key} stands in it twice: the first one counts`);
    else fieldByKey.set(field.key, field);
  }
  const read = (key: string): string => readFrontText(fieldByKey.get(key) ?? noField);
  const wrong = checkRequired({ name: read("name"), description: read("description"), prompt: front.body.trim() });
  if (wrong !== undefined) return refuse(wrong);
  for (const key of fieldByKey.keys()) {
    const warning = knownKeys.has(key) ? unusedKeys.get(key) : `${key} is unknown and means nothing here`;
    if (warning !== undefined) warnings.push(warning);
  }
  const allowed = readTools(fieldByKey.get("tools"));
  const denied = readTools(fieldByKey.get("disallowedTools"));
  for (const rule of allowed.rules)
    warnings.push(`${rule} is left out: a tool is given as a whole; deny rules in disallowedTools narrow it`);
  if (fieldByKey.has("tools") && allowed.names.length === 0)
    warnings.push("tools names none, so it has none: leave the line out to give it all");
  const memory = chooseOne(read("memory"), agentMemoryScopes);
  if (memory.kind === "unknown")
    warnings.push(`memory ${memory.text} is unknown: it has none; write ${listWords(agentMemoryScopes)}`);
  const mode = chooseOne(read("permissionMode"), agentPermissionModes);
  if (mode.kind === "unknown")
    warnings.push(`permissionMode ${mode.text} is unknown: default counts; write ${listWords(agentPermissionModes)}`);
  const model = read("model");
  return {
    kind: "definition",
    warnings,
    definition: {
      name: read("name"),
      // Generated files write line breaks as `\n` without quotes.
      description: clipText(
        oneLine(read("description").replaceAll(String.raw`\n`, " ")).trim(),
        definitionDescriptionCharsMax,
      ),
      prompt: front.body.trim(),
      tools: fieldByKey.has("tools") ? limitTools(allowed.names) : undefined,
      disallowedTools: denied.names.length === 0 ? undefined : denied.names,
      denyRules: denied.rules.length === 0 ? undefined : denied.rules,
      model: model === "" || model.toLowerCase() === "inherit" ? undefined : model,
      memory: memory.kind === "one" ? memory.value : undefined,
      permissionMode: mode.kind === "one" ? mode.value : mode.kind === "unknown" ? "default" : undefined,
      source,
    },
  };
}

const noField = { first: "", more: [] } as const;

const refuse = (why: string): ParsedDefinition => ({ kind: "refused", why });

function checkRequired({ name, description, prompt }: Pick<AgentDefinition, "name" | "description" | "prompt">) {
  if (name === "") return "it has no name: add a line like `name: reviewer` to its front matter";
  if (!isAgentName(name))
    return `its name can't be used: write at most ${agentNameCharsMax} letters, digits, dots, underscores and hyphens`;
  if (name === forkTypeName) return `the name ${forkTypeName} is taken: it starts a copy of the conversation`;
  if (description === "") return "it has no description: add a line that says when to use it, `description: …`";
  if (prompt === "") return "it has no text below its front matter: write there what the agent is to do";
  return undefined;
}

/** Of other agents; the reason is for the user. Absent: it says nothing that matters here. */
const unusedKeys: ReadonlyMap<string, string> = new Map(
  ["hooks", "mcpServers", "skills", "maxTurns", "isolation", "background", "effort", "initialPrompt"].map((key) => [
    key,
    `${key} has no effect here`,
  ]),
);

const knownKeys: ReadonlySet<string> = new Set([
  "name",
  "description",
  "tools",
  "disallowedTools",
  "model",
  "memory",
  "permissionMode",
  "color",
  ...unusedKeys.keys(),
]);

type Choice<Value extends string> =
  | { readonly kind: "one"; readonly value: Value }
  | { readonly kind: "none" }
  | { readonly kind: "unknown"; readonly text: string };

function chooseOne<Value extends string>(text: string, values: readonly Value[]): Choice<Value> {
  const value = values.find((one) => one.toLowerCase() === text.toLowerCase());
  if (value !== undefined) return { kind: "one", value };
  return text === "" ? { kind: "none" } : { kind: "unknown", text: JSON.stringify(clipText(oneLine(text), 40)) };
}

const listWords = (words: readonly string[]): string => `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;

interface ReadTools {
  readonly names: readonly string[];
  /** Those with something in brackets, as written. */
  readonly rules: readonly string[];
}

function readTools(field: FrontField | undefined): ReadTools {
  // Names are also written with spaces between them; brackets may hold spaces.
  const written = readFrontList(field ?? noField).flatMap((text) => text.match(/[^\s()]+(?:\([^)]*\))?/g) ?? []);
  const names = written.filter(isWhole).map((text) => ownToolName(text.replace(/\(.*$/, "")));
  return { names: [...new Set(names)], rules: written.filter((text) => !isWhole(text)) };
}

const isWhole = (text: string): boolean => /^[^()]+(?:\(\*?\))?$/.test(text);

/** Undefined stands for all tools. */
const limitTools = (names: readonly string[]): readonly string[] | undefined =>
  names.includes("*") ? undefined : names.slice(0, definitionToolsMax);

/** `Read` is `read`, `WebFetch` is `web_fetch`. Names of servers' tools stay as they are. */
export function ownToolName(name: string): string {
  if (/^mcp__/i.test(name)) return name;
  const own = name.replaceAll(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase();
  return ownNameByAlias.get(own.replaceAll("_", "")) ?? own;
}

/** Other agents' names for tools that we have too, without underscores. */
const ownNameByAlias: ReadonlyMap<string, string> = new Map([
  ["agent", "agent"],
  ["askuserquestion", "ask_user"],
  ["bashoutput", "bash_output"],
  ["exitplanmode", "plan"],
  ["killbash", "bash_kill"],
  ["killshell", "bash_kill"],
  ["ls", "glob"],
  ["multiedit", "edit"],
  ["task", "agent"],
  ["todoread", "todo"],
  ["todowrite", "todo"],
]);

/** Through these an agent reaches servers' tools; which ones, `mayUseTool` says. */
const serverTools: ReadonlySet<string> = new Set(["tool_search", "use_tool"]);

/** What every agent has unless it is taken away: what was cleared from its view comes back with it. */
const usualTools: ReadonlySet<string> = new Set(["recall", "compact"]);

/**
 * Whether an agent of this type may call a tool, by our name of it or `mcp__<server>__<tool>`. To be asked at each call of a
 * server's tool: `use_tool` is one tool for all of them.
 */
export function mayUseTool({ tools, disallowedTools = [], memory }: ToolLimits, name: string): boolean {
  const matches = (one: string): boolean => matchesTool(one, name);
  if (disallowedTools.some(matches)) return false;
  if (tools === undefined || tools.some(matches)) return true;
  if (serverTools.has(name)) return tools.some((one) => /^mcp__/i.test(one));
  return usualTools.has(name) || (name === "memory" && memory !== undefined);
}

type ToolLimits = Pick<AgentDefinition, "tools" | "disallowedTools" | "memory">;

/** `mcp__github` covers all tools of that server. */
function matchesTool(pattern: string, name: string): boolean {
  if (pattern === "*" || pattern.toLowerCase() === name.toLowerCase()) return true;
  if (!/^mcp__/i.test(pattern)) return false;
  const whole = /^mcp__[^_]+(?:_[^_]+)*$/i.test(pattern) ? `${pattern}__*` : pattern;
  const form = whole.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${form.join(".*")}$`, "is").test(name);
}

/** The tools of an agent of this type, of those that its parent has, in their order. */
export const toolsForAgent = <One extends { readonly name: string }>(
  definition: ToolLimits,
  tools: readonly One[],
): readonly One[] => tools.filter(({ name }) => mayUseTool(definition, name));

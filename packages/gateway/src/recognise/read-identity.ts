import type { IncomingHttpHeaders } from "node:http";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  textField,
  tryParseJson,
} from "palimpsest/internal/schema/json";
import { clientCharsMax } from "./limits.ts";

/** What a request says about where it comes from. */
export interface RequestIdentity {
  /** The program, such as `claude-code`; undefined if it does not say so. */
  readonly client: string | undefined;
  /** The session as the client names it; undefined if it names none. */
  readonly session: string | undefined;
  /** The sub-agent in that session. */
  readonly agent: string | undefined;
  /** Requests without tools (titles, summaries, observers) are conversations of their own, also within one session. */
  readonly hasTools: boolean;
  /** The names of the tools: they tell conversations of one session apart. */
  readonly toolNames: readonly string[];
}

interface IdentityInput {
  readonly headers: IncomingHttpHeaders;
  /** A field of the body. */
  readonly field: (name: string) => Json | undefined;
  /** The elements in front of the list: Codex has its tools there. */
  readonly preamble: readonly JsonObject[];
}

/** By headers and fields that the clients send (docs/gateway.md lists them). */
export function readIdentity({ headers, field: bodyField, preamble }: IdentityInput): RequestIdentity {
  const header = (name: string): string | undefined => readHeader(headers, name);
  const toolNames = [bodyField("tools"), ...preamble.map(additionalTools)].flatMap(readToolNames);
  const codex = codexTurn(header("x-codex-turn-metadata"));
  const session =
    header("x-palimpsest-session") ??
    header("x-claude-code-session-id") ??
    claudeCodeSession(bodyField("metadata")) ??
    codex.session ??
    header("x-session-id") ??
    header("session-id") ??
    header("session_id") ??
    header("x-thread-id") ??
    (keyIsSession.test(header("user-agent") ?? "") ? asText(bodyField("prompt_cache_key")) : undefined);
  const agent =
    header("x-claude-code-agent-id") ??
    codex.agent ??
    (isSubAgent(bodyField("system")) ? "subagent" : undefined) ??
    header("x-palimpsest-agent");
  return { client: clientName(header), session, agent, hasTools: toolNames.length > 0, toolNames };
}

/** Codex and pi. For the API the key only routes, and programs have one for all of their users. */
const keyIsSession = /^(?:codex[_/ -]|pi(?:[/ ]|$))/;

/** More than one value of a header is no identity. */
const readHeader = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

const asText = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);

/** `metadata.user_id` of Claude Code is a JSON text. */
function claudeCodeSession(metadata: Json | undefined): string | undefined {
  const user = isObject(metadata) ? textField(metadata, "user_id") : undefined;
  const parsed = user?.startsWith("{") === true ? tryParseJson(user) : undefined;
  return isObject(parsed) ? textField(parsed, "session_id") : undefined;
}

/** Threads of one session are its sub-agents, several of which may have the same name. The main one has the session's id. */
function codexTurn(metadata: string | undefined): { readonly session?: string; readonly agent?: string } {
  const turn = metadata === undefined ? undefined : tryParseJson(metadata);
  if (!isObject(turn)) return {};
  const thread = textField(turn, "thread_id");
  const session = textField(turn, "session_id") ?? thread;
  const agent = [textField(turn, "agent_name"), thread === session ? undefined : thread]
    .filter((name) => name !== undefined)
    .join(" ");
  return { ...(session === undefined ? {} : { session }), ...(agent === "" ? {} : { agent }) };
}

/** Claude Code says it in the first line of the system prompt. */
function isSubAgent(system: Json | undefined): boolean {
  const [first] = isArray(system) ? system : [];
  const text = isObject(first) ? textField(first, "text") : undefined;
  return text?.startsWith(billingLine) === true && text.includes("cc_is_subagent=true");
}

export const billingLine = "x-anthropic-billing-header:";

/** The tools of an element that holds nothing else. */
export const additionalTools = (element: JsonObject): Json | undefined =>
  textField(element, "type") === "additional_tools" ? field(element, "tools") : undefined;

const readToolNames = (tools: Json | undefined): readonly string[] => (isArray(tools) ? tools : []).map(toolName);

/** Of a definition; its type if it has no name. */
export function toolName(tool: Json): string {
  if (!isObject(tool)) return "";
  if (textField(tool, "type") === "namespace")
    return `${textField(tool, "name") ?? ""}(${readToolNames(field(tool, "tools")).join(" ")})`;
  const called = field(tool, "function");
  return textField(isObject(called) ? called : tool, "name") ?? textField(tool, "type") ?? "";
}

function clientName(header: (name: string) => string | undefined): string | undefined {
  if (header("x-claude-code-session-id") !== undefined) return "claude-code";
  if (header("x-codex-turn-metadata") !== undefined) return "codex";
  const agent = header("user-agent") ?? "";
  const [, known] =
    /\b(claude-cli|claude-code|opencode|codex|pi|mastra|langchain|ai-sdk|Anthropic\/JS|OpenAI\/JS)\b/i.exec(agent) ??
    [];
  if (known !== undefined) return known.toLowerCase() === "claude-cli" ? "claude-code" : known.toLowerCase();
  const [product] = agent.split(/[/ ]/, 1);
  return product === undefined || product === "" || product.length > clientCharsMax ? undefined : product.toLowerCase();
}

import { passedRoles } from "palimpsest/internal/schema/block";
import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { WireMessage } from "palimpsest/internal/schema/wire/request";
import { asksForCompactions } from "../compaction/betas.ts";
import { isFailedAlone, isFailedCompaction } from "../compaction/blocks.ts";
import { messagesMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { blockPath, blocksOf, type Rule, thinks } from "./check-input.ts";
import { changesTools } from "../tool-set.ts";
import { isServerResult } from "./pairing.ts";

/** How many messages, who begins, and which blocks stand in whose turn. Two messages of one role in a row are one turn. */
export const checkRoles: Rule = ({ request: { messages }, betas }) => {
  if (messages.length === 0) return invalid("at least one message is required", "messages");
  if (messages.length > messagesMax)
    return invalid(`List should have at most ${messagesMax} items, not ${messages.length}`, "messages");
  const first = messages.find((message) => !isFailedAlone(message));
  if (first !== undefined && first.role !== "user" && !beginsCompacted(first))
    return invalid('first message must use the "user" role', "messages");
  const unknown = unknownTypes(betas);
  return firstOf(messages, (message, at) => misplaced(message, { at, unknown }));
};

/** A compaction is what the conversation begins with, whoever brings it: what stood before it may be left away. */
const beginsCompacted = ({ role, content }: WireMessage): boolean => {
  const first = typeof content === "string" ? undefined : content.find((block) => !isFailedCompaction(block));
  return role === "assistant" && first?.type === "compaction";
};

/** Kinds of blocks that are not known without a beta. */
const unknownTypes = (betas: ReadonlySet<string>): ReadonlySet<WireBlock["type"]> =>
  new Set([
    ...(asksForCompactions(betas) ? [] : (["compaction"] as const)),
    ...(changesTools(betas) ? [] : (["tool_addition", "tool_removal"] as const)),
    ...(usesMcpServers(betas) ? [] : (["mcp_tool_use", "mcp_tool_result"] as const)),
  ]);

const usesMcpServers = (betas: ReadonlySet<string>): boolean =>
  betas.values().some((beta) => beta.startsWith("mcp-client-"));

interface MessageIn {
  readonly at: number;
  readonly unknown: ReadonlySet<WireBlock["type"]>;
}

const misplaced = ({ role, content }: WireMessage, { at: message, unknown }: MessageIn): Refusal | undefined => {
  if (typeof content === "string") return undefined;
  for (const [index, block] of content.entries()) {
    if (unknown.has(block.type))
      return invalid(
        `Input tag '${block.type}' found using 'type' does not match any of the expected tags`,
        blockPath(message, index),
      );
    const owner = ownerOf(block);
    if (role === "system" && owner !== "anyone" && owner !== "system")
      return invalid(
        "`system` messages can only hold `text`, `tool_addition` and `tool_removal` blocks",
        blockPath(message, index),
      );
    if (owner !== "anyone" && owner !== role)
      return invalid(`\`${block.type}\` blocks can only be in \`${owner}\` messages`, blockPath(message, index));
  }
  return undefined;
};

function ownerOf(block: WireBlock): "anyone" | WireMessage["role"] {
  switch (block.type) {
    case "text":
      return "anyone";
    case "tool_result":
      return "user";
    case "tool_addition":
    case "tool_removal":
      return "system";
    // Where it may stand is a rule of its own.
    case "compaction":
      return "anyone";
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      return "assistant";
    default:
      return passedRoles[block.type];
  }
}

/** Nothing empty, neither a message nor a text; a last assistant message may be, where prefill is allowed, and a system message that sets something. */
export const checkContent: Rule = ({ request: { messages, system } }) => {
  for (const [at, block] of (typeof system === "string" ? [] : (system ?? [])).entries()) {
    const problem = textProblem(block.text);
    if (problem !== undefined) return invalid(problem, `system.${at}.text`);
  }
  const last = messages.length - 1;
  return firstOf(messages, (message, at) =>
    (at === last && isEmptyReply(message)) || setsOnly(message) ? undefined : emptyContent(message, at),
  );
};

const isEmptyReply = ({ role, content }: WireMessage): boolean => role === "assistant" && content.length === 0;

const setsOnly = ({ role, content, output_config: config }: WireMessage): boolean =>
  role === "system" && content.length === 0 && config?.effort !== undefined && config.effort !== null;

function emptyContent({ content }: WireMessage, at: number): Refusal | undefined {
  if (content.length === 0) {
    return invalid(
      "all messages must have non-empty content except for the optional final assistant message",
      `messages.${at}`,
    );
  }
  if (typeof content === "string") {
    const problem = textProblem(content);
    return problem === undefined ? undefined : invalid(problem, `messages.${at}.content`);
  }
  return firstOf(content, (block, index) => emptyBlock(block, blockPath(at, index)));
}

function emptyBlock(block: WireBlock, path: string): Refusal | undefined {
  if (block.type === "text") {
    const problem = textProblem(block.text);
    return problem === undefined ? undefined : invalid(problem, `${path}.text`);
  }
  if (block.type !== "tool_result") return undefined;
  const { content } = block;
  if (block.is_error === true && (content === undefined || content.length === 0))
    return invalid("content cannot be empty if `is_error` is true", `${path}.tool_result`);
  if (typeof content !== "object") return undefined;
  return firstOf(content, (part, index) => {
    const problem = part.type === "text" ? textProblem(part.text) : undefined;
    return problem === undefined ? undefined : invalid(problem, `${path}.tool_result.content.${index}.text`);
  });
}

function textProblem(text: string): string | undefined {
  if (text === "") return "text content blocks must be non-empty";
  return /\S/.test(text) ? undefined : "text content blocks must contain non-whitespace text";
}

/**
 * A conversation that ends in the assistant's words asks to go on from there. Ending in a server tool's call or result,
 * or in a compaction, is no prefill: so a paused turn goes on, on every model. What is only summed up is not gone on with.
 */
export const checkPrefill: Rule = ({ request, traits, endpoint }) => {
  const last = request.messages.at(-1);
  if (last?.role !== "assistant") return undefined;
  if (endpoint === "messages" && isSet(request.compaction)) return undefined;
  const end = blocksOf(last.content).at(-1);
  if (end?.type === "compaction") return undefined;
  if (end?.type === "server_tool_use" || (end !== undefined && isServerResult(end))) return undefined;
  if (traits.prefill === "refused")
    return invalid(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  if (thinks(request))
    return invalid("Assistant message prefill is not supported while thinking is enabled.", "messages");
  return end?.type === "text" && /\s$/.test(end.text)
    ? invalid("final assistant content cannot end with trailing whitespace", "messages")
    : undefined;
};

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function firstOf<Value>(
  values: readonly Value[],
  check: (value: Value, at: number) => Refusal | undefined,
): Refusal | undefined {
  for (const [at, value] of values.entries()) {
    const found = check(value, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

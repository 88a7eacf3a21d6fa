import { roleByPassthroughType } from "palimpsest/internal/schema/block";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { hasCompactionBeta, isOnlyFailedCompaction, isFailedCompaction } from "../compaction/compaction-block.ts";
import { messagesMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { blockPath, contentBlocks, type Rule, isThinking, type Turn, groupTurns } from "./check-input.ts";
import { changesTools } from "../prompt/tool-set.ts";
import { isServerResult } from "./check-pairing.ts";

/**
 * How many messages, which role begins, and which blocks may stand in which turn. Two messages of one role in a row are
 * one turn.
 */
export const checkRoles: Rule = ({ request: { messages }, betas }) => {
  if (messages.length === 0) return invalid("at least one message is required", "messages");
  if (messages.length > messagesMax)
    return invalid(`List should have at most ${messagesMax} items, not ${messages.length}`, "messages");
  const first = messages.find((message) => !isOnlyFailedCompaction(message));
  if (first !== undefined && first.role !== "user" && !beginsCompacted(first))
    return invalid('first message must use the "user" role', "messages");
  const unknown = unknownTypes(betas);
  return firstRefusal(messages, (message, at) => checkBlockRoles(message, { at, unknown }));
};

/** A conversation may begin with a compaction, whichever role brings it: what stood before it may be omitted. */
const beginsCompacted = ({ role, content }: WireMessage): boolean => {
  const first = typeof content === "string" ? undefined : content.find((block) => !isFailedCompaction(block));
  return role === "assistant" && first?.type === "compaction";
};

/** Kinds of blocks that are unknown without a beta. */
const unknownTypes = (betas: ReadonlySet<string>): ReadonlySet<WireBlock["type"]> =>
  new Set([
    ...(hasCompactionBeta(betas) ? [] : (["compaction"] as const)),
    ...(changesTools(betas) ? [] : (["tool_addition", "tool_removal"] as const)),
    ...(usesMcpServers(betas) ? [] : (["mcp_tool_use", "mcp_tool_result"] as const)),
  ]);

const usesMcpServers = (betas: ReadonlySet<string>): boolean =>
  betas.values().some((beta) => beta.startsWith("mcp-client-"));

const checkBlockRoles = (
  { role, content }: WireMessage,
  { at: message, unknown }: { readonly at: number; readonly unknown: ReadonlySet<WireBlock["type"]> },
): Refusal | undefined => {
  if (typeof content === "string") return undefined;
  for (const [index, block] of content.entries()) {
    if (unknown.has(block.type))
      return invalid(
        `Input tag '${block.type}' found using 'type' does not match any of the expected tags`,
        blockPath(message, index),
      );
    const owner = blockOwner(block);
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

function blockOwner(block: WireBlock): "anyone" | WireMessage["role"] {
  switch (block.type) {
    case "text":
      return "anyone";
    case "tool_result":
      return "user";
    case "tool_addition":
    case "tool_removal":
      return "system";
    // Its place is checked by a rule of its own.
    case "compaction":
      return "anyone";
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      return "assistant";
    default:
      return roleByPassthroughType[block.type];
  }
}

/**
 * No message and no text may be empty, except a last assistant message if prefill is allowed, and a system message that
 * sets something.
 */
export const checkContent: Rule = ({ request: { messages, system } }) => {
  for (const [at, block] of (typeof system === "string" ? [] : (system ?? [])).entries()) {
    const problem = textProblem(block.text);
    if (problem !== undefined) return invalid(problem, `system.${at}.text`);
  }
  const last = messages.length - 1;
  return firstRefusal(messages, (message, at) =>
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
  return firstRefusal(content, (block, index) => emptyBlock(block, blockPath(at, index)));
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
  return firstRefusal(content, (part, index) => {
    const problem = part.type === "text" ? textProblem(part.text) : undefined;
    return problem === undefined ? undefined : invalid(problem, `${path}.tool_result.content.${index}.text`);
  });
}

function textProblem(text: string): string | undefined {
  if (text === "") return "text content blocks must be non-empty";
  return /\S/.test(text) ? undefined : "text content blocks must contain non-whitespace text";
}

/**
 * A conversation that ends with the assistant's text asks the model to continue it. Ending in a server tool's call or
 * result, or in a compaction, is not prefill: that is how a paused turn continues, on every model. A request that only
 * summarises does not continue anything.
 */
export const checkPrefill: Rule = ({ request, traits, endpoint }) => {
  const last = request.messages.at(-1);
  if (last?.role !== "assistant") return undefined;
  if (endpoint === "messages" && isSet(request.compaction)) return undefined;
  const end = contentBlocks(last.content).at(-1);
  if (end?.type === "compaction") return undefined;
  if (end?.type === "server_tool_use" || (end !== undefined && isServerResult(end))) return undefined;
  if (traits.prefill === "refused")
    return invalid(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  if (isThinking(request))
    return invalid("Assistant message prefill is not supported while thinking is enabled.", "messages");
  return end?.type === "text" && /\s$/.test(end.text)
    ? invalid("final assistant content cannot end with trailing whitespace", "messages")
    : undefined;
};

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function firstRefusal<Value>(
  values: readonly Value[],
  check: (value: Value, at: number) => Refusal | undefined,
): Refusal | undefined {
  for (const [at, value] of values.entries()) {
    const found = check(value, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Which models accept system messages inside `messages`, where they may stand, and what they may set. */
export const checkSystemMessages: Rule = (input) =>
  input.request.messages.every(isPlain) ? undefined : (checkEffort(input) ?? checkClearAt(input) ?? checkPlaces(input));

/** A message that these rules do not concern: most conversations have no other messages. */
const isPlain = ({ role, output_config: config, clear_at: clearAt }: WireMessage): boolean =>
  role !== "system" && config === undefined && clearAt === undefined;

/** Any of them lets a system message set the effort from there on. */
const effortBetas = ["mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"] as const;

const checkEffort: Rule = ({ request: { messages }, betas }) => {
  const isKnown = effortBetas.some((name) => betas.has(name));
  const at = messages.findIndex(
    ({ role, output_config: config }) => config !== null && config !== undefined && !(isKnown && role === "system"),
  );
  return at === -1 ? undefined : invalid("Extra inputs are not permitted", `messages.${at}.output_config`);
};

export const clearAtBeta = "mid-conversation-system-clear-at-2026-08-21";

/** `clear_at` says when a message stops being shown; an explicit `never` needs the beta too. */
const checkClearAt: Rule = ({ request: { messages }, betas }) => {
  const isKnown = betas.has(clearAtBeta);
  const at = messages.findIndex(
    ({ role, clear_at: clearAt }) => clearAt !== null && clearAt !== undefined && !(isKnown && role === "system"),
  );
  return at === -1 ? undefined : invalid("Extra inputs are not permitted", `messages.${at}.clear_at`);
};

/**
 * Directly after a user turn, or after an assistant turn that ends in a server tool's result, and then last or before
 * an assistant turn. So a system message never separates a call from its result.
 */
const checkPlaces: Rule = ({ request: { messages }, traits }) => {
  if (!messages.some(({ role }) => role === "system")) return undefined;
  if (traits.systemMessages === "refused") {
    return invalid(
      'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      "messages",
    );
  }
  const turns = groupTurns(messages);
  for (const [at, turn] of turns.entries()) {
    if (turn.role !== "system") continue;
    const path = `messages.${(turns[at - 1]?.last ?? -1) + 1}`;
    if (!mayPrecede(turns[at - 1]))
      return invalid(
        "a `system` message must directly follow a `user` turn or an `assistant` turn that ends with a server tool result",
        path,
      );
    if (turns[at + 1]?.role === "user")
      return invalid("a `system` message must be the last message or be followed by an `assistant` turn", path);
  }
  return undefined;
};

function mayPrecede(turn: Turn | undefined): boolean {
  if (turn === undefined) return false;
  const end = turn.blocks.at(-1)?.block;
  return turn.role === "user" || (end !== undefined && isServerResult(end));
}

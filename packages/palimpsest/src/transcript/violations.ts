import { type Block, callIdPattern, type Message, roleByPassthroughType, type ToolUseBlock } from "../schema/block.ts";
import { type ToolUseId, entryId, messageId } from "../schema/brand.ts";
import { type JsonObject, textField } from "../schema/json.ts";
import { lacksFirstUser, type Repair, withFirstUser } from "./repair.ts";
import { isThinking } from "./to-wire-block.ts";
import { Flattener } from "./flattener.ts";

/** The API's rules for `messages` that concern a history. A request is valid if no rule is violated. */
export type WireRule =
  | "first-is-user"
  | "last-is-user"
  | "roles-alternate"
  | "content-not-empty"
  | "text-not-empty"
  | "block-known"
  | "block-in-its-turn"
  | "call-id-form"
  | "call-id-unique"
  | "call-answered"
  | "result-has-call"
  | "result-once"
  | "results-first"
  | "result-not-empty"
  | "thinking-signed"
  | "thinking-first"
  | "thinking-not-last";

export interface Violation {
  readonly rule: WireRule;
  /** `messages.3.content.0`, in the API's notation. */
  readonly path: string;
  readonly detail: string;
}

/** `end`: `any` also accepts a history that ends in the assistant's turn, which is well-formed but not a request. */
export function violations(
  messages: readonly Message[],
  { end = "user" }: { readonly end?: "user" | "any" } = {},
): Violation[] {
  const found: Violation[] = [];
  const seen = new Set<ToolUseId>();
  if (lacksFirstUser(messages))
    found.push({ rule: "first-is-user", path: "messages.0", detail: "the first message must be the user's" });
  if (end !== "any" && messages.at(-1)?.role === "assistant") {
    found.push({
      rule: "last-is-user",
      path: `messages.${messages.length - 1}`,
      detail: "the conversation must end with a user message",
    });
  }
  for (const [at, message] of messages.entries()) {
    const path = `messages.${at}`;
    if (at > 0 && messages[at - 1]?.role === message.role)
      found.push({ rule: "roles-alternate", path, detail: `two ${message.role} messages in a row` });
    if (message.content.length === 0)
      found.push({ rule: "content-not-empty", path, detail: "a message without content" });
    found.push(...blockViolations(message, path));
    if (message.role === "assistant") found.push(...replyViolations(message, { path, seen, next: messages[at + 1] }));
    else found.push(...resultViolations(message, { path, previous: messages[at - 1] }));
  }
  return found;
}

function blockViolations(message: Message, path: string): Violation[] {
  return message.content.flatMap((block, at) => {
    const problem = blockProblem(block, message.role);
    return problem === undefined ? [] : [{ ...problem, path: `${path}.content.${at}` }];
  });
}

function blockProblem(block: Block, role: Message["role"]): Omit<Violation, "path"> | undefined {
  const misplaced = { rule: "block-in-its-turn", detail: `${block.type} in a ${role} message` } as const;
  switch (block.type) {
    case "text":
      return block.text.trim() === ""
        ? { rule: "text-not-empty", detail: "text without a visible character" }
        : undefined;
    case "thinking":
      if (role !== "assistant") return misplaced;
      return block.signature === "" ? { rule: "thinking-signed", detail: "thinking without a signature" } : undefined;
    case "redacted_thinking":
      return role === "assistant" ? undefined : misplaced;
    case "tool_use":
      if (role !== "assistant") return misplaced;
      return callIdPattern.test(block.id)
        ? undefined
        : { rule: "call-id-form", detail: `id ${JSON.stringify(block.id)}` };
    case "tool_result":
      if (role !== "user") return misplaced;
      return isEmptyResult(block.content)
        ? { rule: "result-not-empty", detail: "a result with empty content" }
        : undefined;
    case "unknown":
      return { rule: "block-known", detail: "a block of no known type" };
    default:
      return roleByPassthroughType[block.type] === role ? undefined : misplaced;
  }
}

const isEmptyResult = (content: string | readonly JsonObject[] | undefined): boolean =>
  typeof content === "string"
    ? content.trim() === ""
    : (content ?? []).some((part) => part["type"] === "text" && (textField(part, "text") ?? "").trim() === "");

/** `seen`: the calls of all earlier messages; this message's calls are added. */
function replyViolations(
  message: Message,
  { path, seen, next }: { path: string; seen: Set<ToolUseId>; next: Message | undefined },
): Violation[] {
  const found: Violation[] = [];
  const answered = new Set(next?.content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])));
  for (const block of callsIn(message)) {
    if (seen.has(block.id)) found.push({ rule: "call-id-unique", path, detail: `call ${block.id} stands twice` });
    seen.add(block.id);
    if (next !== undefined && !answered.has(block.id))
      found.push({ rule: "call-answered", path, detail: `call ${block.id} has no result in the next message` });
  }
  if (isThinking(message.content.at(-1)))
    found.push({ rule: "thinking-not-last", path, detail: "a reply can't end in thinking" });
  if (message.content.some((block) => isThinking(block)) && !isThinking(message.content[0])) {
    found.push({ rule: "thinking-first", path, detail: "thinking must open its turn" });
  }
  return found;
}

function resultViolations(
  message: Message,
  { path, previous }: { path: string; previous: Message | undefined },
): Violation[] {
  const found: Violation[] = [];
  const called = new Set(previous === undefined ? [] : callsIn(previous).map((block) => block.id));
  const answered = new Set<ToolUseId>();
  let hasOtherContent = false;
  for (const block of message.content) {
    if (block.type !== "tool_result") {
      hasOtherContent = true;
      continue;
    }
    if (hasOtherContent)
      found.push({ rule: "results-first", path, detail: `result ${block.tool_use_id} stands behind other content` });
    if (!called.has(block.tool_use_id))
      found.push({
        rule: "result-has-call",
        path,
        detail: `result ${block.tool_use_id} has no call in the previous message`,
      });
    if (answered.has(block.tool_use_id))
      found.push({ rule: "result-once", path, detail: `call ${block.tool_use_id} is answered twice` });
    answered.add(block.tool_use_id);
  }
  return found;
}

const callsIn = (message: Message): ToolUseBlock[] => message.content.filter((block) => block.type === "tool_use");

/**
 * Turns any list of messages into a valid history; always succeeds, and a second pass changes nothing. Uses the fold's
 * `Flattener`, so that only one place knows how to satisfy the API's rules. A repair's `entry` is `messages.<index>`.
 */
export function mend(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly repairs: readonly Repair[];
} {
  const flattener = new Flattener({ decisions: new Map() });
  for (const [at, message] of messages.entries()) {
    const name = `messages.${at}`;
    flattener.push({
      entry: entryId(name),
      role: message.role,
      messageId: message.role === "assistant" ? messageId(name) : undefined,
      blocks: message.content,
      thinking: "kept",
      at,
    });
  }
  const repairs = flattener.requestRepairs;
  if (!flattener.groups.some((group) => group.role === "user"))
    return { messages: [], repairs: repairs.filter(({ kind }) => kind !== "first-user-line") };
  return { messages: withFirstUser(flattener.withSyntheticResults()), repairs };
}

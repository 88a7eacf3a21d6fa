import { callIdPattern, toolNamePattern } from "palimpsest/internal/schema/block";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import { invalid, type Refusal } from "../refusal.ts";
import { type Rule, type PlacedBlock, formatPlace, type Turn, groupTurns } from "./check-input.ts";

/**
 * Every call is answered once, at the start of the next turn; every result answers a call of the turn before. A server
 * tool's call is answered inside its own turn; its result may still be missing while the assistant is not done: in its
 * last turn, followed only by results of the calls beside it.
 * Does not need `tools`: a conversation may hold old calls of tools that are gone.
 */
export const checkPairing: Rule = ({ request: { messages } }) => {
  const turns = groupTurns(messages).filter(({ role }) => role !== "system");
  const lastReply = turns.findLast(({ role }) => role === "assistant");
  const ids = new Set<string>();
  for (const [at, turn] of turns.entries()) {
    const found =
      turn.role === "assistant"
        ? (checkIds(turn, ids) ??
          checkAnswers(turn, turns[at + 1]) ??
          checkServerTools(turn, turn === lastReply && canContinue(turns[at + 1]) ? trailingCalls(turn) : noBlocks))
        : checkResults(turn, turns[at - 1]);
    if (found !== undefined) return found;
  }
  return undefined;
};

type BlockOf<Type extends WireBlock["type"]> = Extract<WireBlock, { type: Type }>;
type ServerResult = Extract<WireBlock, { type: `${string}_tool_result` }>;

export const isServerResult = (block: WireBlock): block is ServerResult => block.type.endsWith("_tool_result");

const isCall = (placed: PlacedBlock): placed is PlacedBlock & { readonly block: BlockOf<"tool_use"> } =>
  placed.block.type === "tool_use";

const isResult = (placed: PlacedBlock): placed is PlacedBlock & { readonly block: BlockOf<"tool_result"> } =>
  placed.block.type === "tool_result";

const serverCallIdForm = /^srvtoolu_[a-zA-Z0-9_]+$/;

function checkIds(turn: Turn, ids: Set<string>): Refusal | undefined {
  for (const placed of turn.blocks) {
    const { block } = placed;
    if (block.type !== "tool_use" && block.type !== "server_tool_use") continue;
    const form = block.type === "tool_use" ? callIdPattern : serverCallIdForm;
    if (!form.test(block.id)) return badForm(form, `${formatPlace(placed)}.${block.type}.id`);
    if (block.type === "tool_use" && !toolNamePattern.test(block.name))
      return badForm(toolNamePattern, `${formatPlace(placed)}.tool_use.name`);
    if (ids.has(block.id)) return invalid("`tool_use` ids must be unique", formatPlace(placed));
    ids.add(block.id);
  }
  return undefined;
}

const badForm = (form: RegExp, path: string): Refusal => invalid(`String should match pattern '${form.source}'`, path);

function checkAnswers(turn: Turn, next: Turn | undefined): Refusal | undefined {
  const calls = turn.blocks.filter((placed) => isCall(placed));
  if (calls.length === 0) return undefined;
  const firstOther = next?.blocks.findIndex((placed) => !isResult(placed)) ?? -1;
  const leading = firstOther === -1 ? next?.blocks : next?.blocks.slice(0, firstOther);
  const answered = new Set(leading?.filter((placed) => isResult(placed)).map(({ block }) => block.tool_use_id));
  const open = calls.filter(({ block }) => !answered.has(block.id));
  const [first] = open;
  if (first === undefined) return undefined;
  return invalid(
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.map(({ block }) => block.id).join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    `messages.${first.message}`,
  );
}

function checkResults(turn: Turn, previous: Turn | undefined): Refusal | undefined {
  const results = turn.blocks.filter((placed) => isResult(placed));
  if (results.length === 0) return undefined;
  const called = new Set(previous?.blocks.filter((placed) => isCall(placed)).map(({ block }) => block.id));
  const answered = new Set<string>();
  for (const placed of results) {
    const id = placed.block.tool_use_id;
    const path = formatPlace(placed);
    if (!callIdPattern.test(id)) return badForm(callIdPattern, `${path}.tool_result.tool_use_id`);
    if (!called.has(id))
      return invalid(
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        path,
      );
    if (answered.has(id))
      return invalid(
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        path,
      );
    answered.add(id);
  }
  return undefined;
}

const noBlocks: ReadonlySet<WireBlock> = new Set();

function checkServerTools(turn: Turn, paused: ReadonlySet<WireBlock>): Refusal | undefined {
  const open = new Map<string, PlacedBlock & { readonly block: BlockOf<"server_tool_use" | "mcp_tool_use"> }>();
  for (const placed of turn.blocks) {
    const { block } = placed;
    if (block.type === "server_tool_use" || block.type === "mcp_tool_use") open.set(block.id, { ...placed, block });
    else if (isServerResult(block) && !open.delete(block.tool_use_id))
      return invalid(
        `unexpected \`tool_use_id\` found in \`${block.type}\` blocks: ${block.tool_use_id}. Each \`${block.type}\` block must have a corresponding \`server_tool_use\` block before it.`,
        formatPlace(placed),
      );
  }
  const lost = [...open.values()].find(({ block }) => !paused.has(block));
  return lost === undefined
    ? undefined
    : invalid(
        `\`${lost.block.name}\` tool use with id \`${lost.block.id}\` was found without a corresponding \`${serverResultType(lost.block)}\` block`,
        `messages.${lost.message}`,
      );
}

const canContinue = (next: Turn | undefined): boolean =>
  next === undefined || next.blocks[0]?.block.type === "tool_result";

/** The calls that a turn ends with: what a paused turn still waits for. */
function trailingCalls({ blocks }: Turn): ReadonlySet<WireBlock> {
  const last = blocks.findLastIndex(({ block }) => !block.type.endsWith("tool_use"));
  return new Set(blocks.slice(last + 1).map(({ block }) => block));
}

function serverResultType({ type, name }: BlockOf<"server_tool_use" | "mcp_tool_use">): string {
  if (type === "mcp_tool_use") return "mcp_tool_result";
  return name.startsWith("tool_search") ? "tool_search_tool_result" : `${name}_tool_result`;
}

import type { WireBlock, WireResultPart } from "../schema/wire/block.ts";
import type { CountRequest, MessagesRequest } from "../schema/wire/request.ts";
import { hashOf } from "./hash.ts";
import type { Level } from "./prompt.ts";

export interface SaltInputs {
  readonly request: MessagesRequest | CountRequest;
  /** The registry's id: aliases of one model share its cache. */
  readonly modelId: string;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

/**
 * The invalidation table: what is named at a level makes everything from that level on another cache entry.
 * Tools themselves, web tools and the system prompt are blocks and need no salt.
 */
export function promptSalts({ request, modelId, workspace, betas }: SaltInputs): Readonly<Record<Level, string>> {
  const tools = [workspace, modelId];
  const system = [...tools, request.speed ?? "standard", hasCitations(request)];
  const messages = [
    ...system,
    toolChoiceOf(request),
    imageCount(request),
    thinkingOf(request),
    // The default, spelled out, is no change.
    request.output_config?.effort ?? "high",
    request.output_config?.format ?? request.output_format ?? null,
    request.output_config?.task_budget ?? null,
    request.context_management ?? null,
    [...betas].toSorted(),
  ];
  return { tools: salt(tools), system: salt(system), messages: salt(messages) };
}

const salt = (parts: readonly unknown[]): string => hashOf(JSON.stringify(parts));

function toolChoiceOf({ tool_choice: choice }: MessagesRequest | CountRequest): readonly unknown[] {
  if (choice === null || choice === undefined) return ["auto", "", false];
  const parallel = choice.type === "none" ? false : choice.disable_parallel_tool_use === true;
  return [choice.type, choice.type === "tool" ? choice.name : "", parallel];
}

/** How mismatches are handled and what is displayed is not part of the prompt. */
function thinkingOf({ thinking }: MessagesRequest | CountRequest): readonly unknown[] {
  if (thinking === null || thinking === undefined) return ["disabled"];
  return thinking.type === "enabled" ? [thinking.type, thinking.budget_tokens] : [thinking.type];
}

const hasCitations = (request: MessagesRequest | CountRequest): boolean =>
  partsOf(request).some(
    (part) => (part.type === "document" || part.type === "search_result") && part.citations?.enabled === true,
  );

/** Adding or removing one anywhere is another prompt for all messages. */
const imageCount = (request: MessagesRequest | CountRequest): number =>
  partsOf(request).filter(({ type }) => type === "image").length;

/** Blocks, and the parts of results and documents, wherever they stand. */
const partsOf = ({ messages }: MessagesRequest | CountRequest): readonly Part[] =>
  messages.flatMap(({ content }) => (typeof content === "string" ? [] : content.flatMap((block) => withInner(block))));

type Part = WireBlock | WireResultPart;

function withInner(part: Part): readonly Part[] {
  if (part.type === "tool_result" && typeof part.content === "object")
    return [part, ...part.content.flatMap((inner) => withInner(inner))];
  if (part.type === "document" && part.source.type === "content" && typeof part.source.content === "object")
    return [part, ...part.source.content];
  return [part];
}

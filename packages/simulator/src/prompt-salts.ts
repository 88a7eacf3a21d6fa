import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/block";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { extension } from "./extension.ts";
import { hashOf } from "./hash.ts";
import type { Level } from "palimpsest/internal/cache/prompt";

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
  const { hasCitations, images } = tallyOf(request);
  const system = [...tools, request.speed ?? "standard", hasCitations];
  const messages = [
    ...system,
    toolChoiceOf(request),
    images,
    thinkingOf(request),
    // The default, spelled out, is no change.
    request.output_config?.effort ?? "high",
    request.output_config?.format ?? request.output_format ?? null,
    request.output_config?.task_budget ?? null,
    request.context_management ?? null,
    [...betas].filter(extension.isOfPrefix).toSorted(),
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

interface ContentTally {
  hasCitations: boolean;
  /** Adding or removing one anywhere is another prompt for all messages. */
  images: number;
}

/** Of blocks, and of the parts of results and documents, wherever they stand: in one pass, since a long conversation has thousands. */
function tallyOf({ messages }: MessagesRequest | CountRequest): Readonly<ContentTally> {
  const tally: ContentTally = { hasCitations: false, images: 0 };
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const block of content) addTo(tally, block);
  }
  return tally;
}

function addTo(tally: ContentTally, part: WireBlock | WireResultPart): void {
  if (part.type === "image") tally.images += 1;
  if (part.type === "tool_result" && typeof part.content === "object")
    for (const inner of part.content) addTo(tally, inner);
  if (part.type !== "document" && part.type !== "search_result") return;
  if (part.citations?.enabled === true) tally.hasCitations = true;
  if (part.type === "document" && part.source.type === "content" && typeof part.source.content === "object")
    for (const inner of part.source.content) addTo(tally, inner);
}

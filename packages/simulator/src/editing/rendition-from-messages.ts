import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { CountRequest, MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { hasCompactionBeta, isFailedCompaction, findLastCompaction } from "../compaction/compaction-block.ts";
import type { RequestRendition } from "../prompt/request-rendition.ts";
import { mayChangeTools, type ToolStep, toolSteps } from "../prompt/tool-set.ts";
import { clearAtBeta } from "../validate/check-roles.ts";

/**
 * What the messages themselves say about how they are shown: compaction blocks, expired reminders, and tools that are
 * added and removed. Each needs its beta: without one nothing is examined.
 */
export function renditionFromMessages(
  request: MessagesRequest | CountRequest,
  betas: ReadonlySet<string>,
): RequestRendition | undefined {
  const from = hasCompactionBeta(betas) ? findLastCompaction(request.messages) : undefined;
  const failed = hasCompactionBeta(betas) ? hideFailedCompactions(request.messages, from?.message ?? 0) : [];
  const over = betas.has(clearAtBeta) ? hideClearedTexts(request.messages) : [];
  const changed = mayChangeTools(betas) ? findChangedTools(request) : undefined;
  if (from === undefined && failed.length === 0 && over.length === 0 && changed === undefined) return undefined;
  const shown = [...failed, ...over, ...(changed?.loaded ?? [])];
  return {
    ...(from === undefined ? {} : { from }),
    shownByPath: new Map(shown.map(({ path, block }) => [path, block])),
    touched: new Set([...(from ? [from.message] : []), ...shown.map(({ message }) => message)]),
    ...(changed === undefined ? {} : { tools: changed.tools }),
  };
}

interface BlockOverride {
  readonly message: number;
  readonly path: string;
  readonly block: WireBlock | "hidden";
}

/** `from`: the first message to examine. */
function hideFailedCompactions(messages: readonly WireMessage[], from: number): readonly BlockOverride[] {
  const failed: BlockOverride[] = [];
  for (let message = from; message < messages.length; message += 1) {
    const content = messages[message]?.content ?? "";
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries())
      if (isFailedCompaction(block))
        failed.push({ message, path: `messages.${message}.content.${index}`, block: "hidden" });
  }
  return failed;
}

/**
 * Hides the texts of system messages that were to be shown only until the user speaks again; results of calls count as
 * a user message too. What such a message did to the tools stays in force.
 */
function hideClearedTexts(messages: readonly WireMessage[]): readonly BlockOverride[] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap(({ role, clear_at: clearAt, content }, message) => {
    if (role !== "system" || clearAt !== "next_user_message" || message > lastUser) return [];
    const types = typeof content === "string" ? ["text"] : content.map(({ type }) => type);
    return types.flatMap((type, index): readonly BlockOverride[] =>
      type === "text" ? [{ message, path: `messages.${message}.content.${index}`, block: "hidden" }] : [],
    );
  });
}

interface ChangedTools {
  readonly tools: readonly WireTool[];
  /** Blocks that refer to deferred tools: the model reads the whole definition there. */
  readonly loaded: readonly BlockOverride[];
}

function findChangedTools(request: MessagesRequest | CountRequest): ChangedTools | undefined {
  const loadedByPath = new Map<string, BlockOverride & { readonly block: WireBlock }>();
  let last: ToolStep | undefined;
  for (const step of toolSteps(request)) {
    last = step;
    const { outcome, message, holder } = step;
    if (outcome.kind !== "loaded") continue;
    const { path } = holder;
    const block = withDefinition(loadedByPath.get(path)?.block ?? holder.block, { step, tool: outcome.tool });
    loadedByPath.set(path, { message, path, block });
  }
  return last === undefined ? undefined : { tools: last.tools.offered, loaded: [...loadedByPath.values()] };
}

/** The block that makes the change, or the compaction that lists it, with the definition in place of the reference. */
function withDefinition(
  holder: WireBlock,
  { step, tool }: { readonly step: ToolStep; readonly tool: WireTool },
): WireBlock {
  const defined = { type: "tool_addition", tool: { type: "tool_definition", definition: tool } } as const;
  return holder.type === "compaction"
    ? { ...holder, tool_changes: (holder.tool_changes ?? []).map((one) => (one === step.change ? defined : one)) }
    : defined;
}

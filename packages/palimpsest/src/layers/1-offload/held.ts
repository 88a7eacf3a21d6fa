import type { ToolUseId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { Projection } from "../../transcript/project.ts";
import type { RoundResult } from "./run.ts";

export interface HeldOptions {
  /** What is known of a tool by its name. */
  readonly toolOf?: (name: string) => Pick<RoundResult, "resultCharsMax" | "offload"> | undefined;
}

/**
 * The rounds of a view that another tool recorded, for `offload`: we have sent nothing of it, so nothing is frozen.
 * Results that an edit has decided about are left out.
 */
export function heldRounds(
  { items, decisions }: Pick<Projection, "items" | "decisions">,
  { toolOf }: HeldOptions = {},
): readonly (readonly RoundResult[])[] {
  const callById = new Map<ToolUseId, Call>();
  const rounds = new Map<string, RoundResult[]>();
  for (const item of items) {
    for (const block of item.blocks) {
      if (block.type === "tool_use") callById.set(block.id, { tool: block.name, round: replyOf(item) });
      const call = block.type === "tool_result" ? callById.get(block.tool_use_id) : undefined;
      if (block.type !== "tool_result" || call === undefined || decisions.has(block.tool_use_id)) continue;
      const { tool, round } = call;
      const { tool_use_id: toolUse, content = "" } = block;
      const result: RoundResult = { toolUse, tool, content, state: "logged", ...toolOf?.(tool) };
      rounds.set(round, [...(rounds.get(round) ?? []), result]);
    }
  }
  return [...rounds.values()];
}

interface Call {
  readonly tool: string;
  readonly round: string;
}

const replyOf = ({ messageId, entry }: Item): string => messageId ?? entry;

import { measureContent, offloadLimitsOf, planOffload } from "palimpsest/internal/layers/1-offload/plan";
import type { OffloadRule } from "palimpsest/internal/layers/policy";
import type { ToolResultBlock } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";

export interface Offloaded {
  readonly toolUse: ToolUseId;
  readonly content: ToolResultBlock;
  /** The preview that stands for it. */
  readonly shown: string;
}

/** What layer 1 takes out of a round's results as they arrive. Which tool they are of does not matter: tools' own limits are not recorded. */
export function offloadedNow(rule: OffloadRule | undefined, before: readonly Entry[]): readonly Offloaded[] {
  if (rule === undefined) return [];
  const results = before.flatMap((entry) =>
    entry.kind === "user" ? entry.blocks.filter((block) => block.type === "tool_result") : [],
  );
  if (results.length === 0) return [];
  const decisions = planOffload({
    results: results.map((block) => ({
      toolUse: block.tool_use_id,
      tool: "",
      ...measureContent(block.content ?? ""),
    })),
    limits: offloadLimitsOf(rule),
    decided: new Map(),
  });
  return results.flatMap((content) => {
    if (decisions.get(content.tool_use_id)?.kind !== "offloaded") return [];
    return [{ toolUse: content.tool_use_id, content, shown: previewOf(content, rule) }];
  });
}

function previewOf({ content }: ToolResultBlock, { preview }: OffloadRule): string {
  const whole = typeof content === "string" ? content : JSON.stringify(content ?? "");
  return `<persisted-output>\n${whole.length} characters are in a file. They begin:\n${whole.slice(0, preview.length).toWellFormed()}\n…\n</persisted-output>`;
}

import { measureContent, offloadLimitsOf, planOffload } from "../layers/1-offload/plan.ts";
import type { OffloadRule } from "../layers/policy.ts";
import type { ToolResultBlock } from "../schema/block.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";

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

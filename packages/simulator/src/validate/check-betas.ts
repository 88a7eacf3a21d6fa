import { modelName } from "palimpsest/internal/tokens/known-models";
import { compactionBetas } from "../compaction/compaction-block.ts";
import { extension } from "../extension.ts";
import { invalid, type Refusal } from "../refusal.ts";
import type { BetaField, Rule } from "./check-input.ts";
import type { ContextEdit } from "palimpsest/internal/schema/wire/messages-request";
import { compactTriggerTokensMin } from "../limits.ts";

const betaFields: readonly BetaField[] = [
  {
    path: "context_management",
    value: (request) => request.context_management,
    betas: ["context-management-2025-06-27", "compact-2026-01-12"],
  },
  { path: "compaction", value: (request) => request.compaction, betas: [compactionBetas.onDemand] },
  extension.field,
  {
    path: "mcp_servers",
    value: (request) => request.mcp_servers,
    betas: ["mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"],
  },
  { path: "speed", value: (request) => request.speed, betas: ["fast-mode-2026-02-01"], generalSince: 5 },
  {
    path: "output_format",
    value: (request) => request.output_format,
    betas: ["structured-outputs-2025-11-13", "structured-outputs-2025-12-15"],
  },
  {
    path: "output_config.task_budget",
    value: (request) => request.output_config?.task_budget,
    betas: ["task-budgets-2026-03-13"],
  },
];

/** Without its beta a field is unknown. */
export const checkBetas: Rule = ({ request, model, betas }) => {
  const { version } = modelName(model.id);
  for (const { path, value, betas: any, generalSince } of betaFields) {
    const sent = value(request);
    const isFree = generalSince !== undefined && version >= generalSince;
    if (sent === undefined || sent === null || isFree || any.some((name) => betas.has(name))) continue;
    return invalid("Extra inputs are not permitted", path);
  }
  if ((request.mcp_servers ?? []).length > 0)
    return invalid("this simulator does not connect to MCP servers", "mcp_servers.0");
  return undefined;
};

const betaByEdit: Readonly<Record<ContextEdit["type"], string>> = {
  clear_tool_uses_20250919: "context-management-2025-06-27",
  clear_thinking_20251015: "context-management-2025-06-27",
  compact_20260112: "compact-2026-01-12",
};

/** Which edits may be asked for, and in which order. */
export const checkContextManagement: Rule = ({ request, betas }) => {
  const edits = request.context_management?.edits ?? [];
  for (const [at, edit] of edits.entries()) {
    const found = checkBeta(edit, { at, betas }) ?? checkPlace(edits, at) ?? checkTrigger(edit, at);
    if (found !== undefined) return found;
  }
  return undefined;
};

const editPath = (at: number): string => `context_management.edits.${at}`;

/** Without its beta an edit is unknown. */
function checkBeta(
  { type }: ContextEdit,
  { at, betas }: { readonly at: number; readonly betas: ReadonlySet<string> },
): Refusal | undefined {
  if (betas.has(betaByEdit[type])) return undefined;
  const known = Object.entries(betaByEdit).flatMap(([name, beta]) => (betas.has(beta) ? [`'${name}'`] : []));
  return invalid(
    `Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.join(", ")}`,
    editPath(at),
  );
}

function checkPlace(edits: readonly ContextEdit[], at: number): Refusal | undefined {
  const type = edits[at]?.type;
  const first = edits.findIndex((edit) => edit.type === type);
  if (first < at) return invalid(`\`${type}\` is listed already, as edit ${first}`, editPath(at));
  return type === "clear_thinking_20251015" && at > 0
    ? invalid("`clear_thinking_20251015` must be the first edit when it is combined with others", editPath(at))
    : undefined;
}

function checkTrigger(edit: ContextEdit, at: number): Refusal | undefined {
  if (edit.type !== "compact_20260112" || (edit.trigger?.value ?? Infinity) >= compactTriggerTokensMin)
    return undefined;
  return invalid(
    `Input should be greater than or equal to ${compactTriggerTokensMin}`,
    `${editPath(at)}.${edit.type}.trigger.value`,
  );
}

import { modelName } from "palimpsest/internal/tokens/model-name";
import { compactionBetas } from "../compaction/betas.ts";
import { extension } from "../extension.ts";
import { invalid } from "../refusal.ts";
import type { BetaField } from "./beta-field.ts";
import type { Rule } from "./check-input.ts";

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

/** Without its beta a field is not known at all. */
export const checkBetas: Rule = ({ request, model, betas }) => {
  const { version } = modelName(model.id);
  for (const { path, value, betas: any, generalSince } of betaFields) {
    const given = value(request);
    const isFree = generalSince !== undefined && version >= generalSince;
    if (given === undefined || given === null || isFree || any.some((name) => betas.has(name))) continue;
    return invalid("Extra inputs are not permitted", path);
  }
  if ((request.mcp_servers ?? []).length > 0)
    return invalid("this simulator does not connect to MCP servers", "mcp_servers.0");
  return undefined;
};

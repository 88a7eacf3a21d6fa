import { field, isArray, isObject, type Json, type JsonObject } from "../../schema/json.ts";
import { modelName } from "../../cache/model-name.ts";
import { invalid, type Refusal } from "../refusal.ts";
import type { CheckInput, Rule } from "./check-input.ts";

interface BetaField {
  readonly path: string;
  readonly value: (request: CheckInput["request"]) => unknown;
  /** Any of them lets the field in. */
  readonly betas: readonly string[];
  /** Models from this version on take the field without a beta. */
  readonly generalSince?: number;
}

const betaFields: readonly BetaField[] = [
  {
    path: "context_management",
    value: (request) => request.context_management,
    betas: ["context-management-2025-06-27", "compact-2026-01-12"],
  },
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
  return checkContextManagement(request.context_management);
};

/** The simulator takes nothing out of a request; an edit that asks for it is refused instead of answered unedited. */
function checkContextManagement(management: JsonObject | null | undefined): Refusal | undefined {
  if (management === undefined || management === null) return undefined;
  const unknown = Object.keys(management).find((name) => name !== "edits");
  if (unknown !== undefined) return invalid("Extra inputs are not permitted", `context_management.${unknown}`);
  const edits = field(management, "edits") ?? [];
  if (!isArray(edits)) return invalid("Input should be a valid list", "context_management.edits");
  const at = edits.findIndex((edit) => !keepsAll(edit));
  return at === -1
    ? undefined
    : invalid("this simulator does not apply context edits", `context_management.edits.${at}`);
}

/** Whether the thinking of earlier turns is to stay also on models that take it out by themselves. */
export const keepsOldThinking = ({ context_management: management }: CheckInput["request"]): boolean => {
  const edits = field(management ?? {}, "edits");
  return isArray(edits) && edits.some(keepsAll);
};

function keepsAll(edit: Json): boolean {
  if (!isObject(edit) || field(edit, "type") !== "clear_thinking_20251015") return false;
  const keep = field(edit, "keep");
  return keep === "all" || (isObject(keep) && field(keep, "type") === "all");
}

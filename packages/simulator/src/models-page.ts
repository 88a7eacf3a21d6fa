import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Model } from "palimpsest/internal/schema/model";
import { invalid, refusal, type Refusal } from "./refusal.ts";
import { modelName } from "palimpsest/internal/tokens/known-models";
import { modelTraits } from "./prompt/model-traits.ts";

/** Query of `GET /v1/models` and `/v1/models/{id}`. */
export interface ModelsQuery {
  readonly limit?: string | undefined;
  readonly afterId?: string | undefined;
  readonly beforeId?: string | undefined;
  /** Lifecycle stages; `active` and `deprecated` if none is named. */
  readonly lifecycle?: readonly string[] | undefined;
}

/** What a server can offer beyond the public API. */
export interface ServerOffer {
  readonly betas: readonly string[];
  readonly capabilities: JsonObject;
}

export function modelsPage(
  all: readonly Model[],
  query: ModelsQuery & ServerOffer,
): Refusal | { kind: "page"; body: object } {
  const stages = query.lifecycle?.length ? query.lifecycle : ["active", "deprecated"];
  const models = all.filter(({ id }) => stages.includes(modelLifecycle(id)));
  const limit = query.limit === undefined ? pageDefault : Number(query.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > pageMax)
    return invalid(`Input should be a whole number from 1 to ${pageMax}`, "limit");
  const after = query.afterId ? models.findIndex(({ id }) => id === query.afterId) + 1 : 0;
  const before = query.beforeId ? models.findIndex(({ id }) => id === query.beforeId) : models.length;
  const until = before < 0 ? models.length : before;
  const start = query.beforeId && !query.afterId ? Math.max(after, until - limit) : after;
  const page = models.slice(start, Math.min(start + limit, until));
  return {
    kind: "page",
    body: {
      data: page.map((model) => modelInfo(model, query)),
      has_more: query.beforeId && !query.afterId ? start > 0 : start + page.length < until,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    },
  };
}

export const unknownModel = (name: string): Refusal => refusal("not_found_error", `model: ${name}`);

export function modelInfo(model: Model, offer: ServerOffer): object {
  const { line } = modelName(model.id);
  return {
    type: "model",
    id: model.id,
    display_name: displayName(model.id),
    created_at: releaseUnknown,
    lifecycle: modelLifecycle(model.id),
    line: line === "" ? null : line,
    deprecated_at: null,
    retires_at: retirementById[model.id] ?? null,
    max_input_tokens: model.windowTokens,
    max_tokens: model.outputTokensMax,
    capabilities: { ...capabilities(model), ...offer.capabilities },
  };
}

/** What this simulator supports for the model, not what the model can do elsewhere. */
function capabilities(model: Model): object {
  const { thinkingTypes, compaction } = modelTraits(model);
  const compacts = compaction === "allowed";
  return {
    batch: supportFlag(false),
    citations: supportFlag(false),
    code_execution: supportFlag(false),
    context_management: {
      supported: true,
      clear_thinking_20251015: supportFlag(true),
      clear_tool_uses_20250919: supportFlag(true),
      compact_20260112: supportFlag(compacts),
    },
    compaction: { supported: compacts, summarize: supportFlag(compacts) },
    effort: {
      supported: true,
      low: supportFlag(true),
      medium: supportFlag(true),
      high: supportFlag(true),
      max: supportFlag(true),
      xhigh: supportFlag(true),
    },
    image_input: supportFlag(true),
    pdf_input: supportFlag(true),
    server_tools: { supported: false, code_execution: supportFlag(false), web_search: supportFlag(false) },
    structured_outputs: supportFlag(false),
    thinking: {
      supported: true,
      types: Object.fromEntries(
        (["adaptive", "between_tools", "disabled", "enabled"] as const).map((type) => [
          type,
          supportFlag(thinkingTypes.includes(type)),
        ]),
      ),
    },
  };
}

const supportFlag = (supported: boolean): object => ({ supported });

const displayName = (id: string): string =>
  id
    .replace(/-(\d+)-(\d+)$/, " $1.$2")
    .split(/[- ]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");

const pageDefault = 20;
const pageMax = 1000;
/** What the API returns for a model whose release date is unknown. */
const releaseUnknown = "1970-01-01T00:00:00Z";

/** As the provider's own client warns. */
const retirementById: Readonly<Record<string, string>> = { "claude-sonnet-4-5": "2026-11-30T00:00:00Z" };

/**
 * Models before 4.5 are retired by November 2026. This simulator still answers for them, because old sessions name
 * them.
 */
function modelLifecycle(id: string): "active" | "deprecated" | "retired" {
  if (modelName(id).version < 4.05) return "retired";
  return Object.hasOwn(retirementById, id) ? "deprecated" : "active";
}

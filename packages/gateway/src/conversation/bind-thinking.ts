import { isObject, type Json } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { RequestBody } from "../body/request-body.ts";
import type { FieldChanges } from "../body/write-body.ts";

interface BoundThinking {
  /** As it is sent. */
  readonly thinking: Json | undefined;
  readonly fields: FieldChanges;
  readonly betas: readonly string[];
}

/** The model may have bound its thinking to what was before it: then an edit would make the whole request invalid. */
export function bindThinking(body: RequestBody): BoundThinking {
  const thinking = body.field("thinking");
  const model = body.field("model");
  const isBound = typeof model === "string" && findModel(model)?.thinking === "bound";
  if (!isBound || !isObject(thinking) || thinking["block_binding"] !== undefined)
    return { thinking, fields: {}, betas: [] };
  const bound = { ...thinking, block_binding: { prefix_mismatch_behavior: "drop_block" } };
  return { thinking: bound, fields: { thinking: bound }, betas: [bindingBeta] };
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

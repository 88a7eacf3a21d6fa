import { type Tokens, tokens } from "../schema/brand.ts";
import { field, isObject, type Json, type JsonObject } from "../schema/json.ts";
import type { ModelDescription } from "../ports/model-port.ts";

/** Field names under which servers report a model's sizes; the first one present counts. */
export interface SizeKeys {
  readonly window: readonly string[];
  readonly output: readonly string[];
  /** The input limit, if a server reports one apart from the window. */
  readonly input?: readonly string[];
}

/** Undefined if the response holds nothing that we can use. */
export function parseModelDescription(info: Json, keys: SizeKeys): ModelDescription | undefined {
  if (!isObject(info)) return undefined;
  const windowTokens = sizeAt(info, keys.window);
  const outputTokensMax = sizeAt(info, keys.output);
  const inputTokensMax = sizeAt(info, keys.input ?? []);
  const capabilities = field(info, "capabilities");
  const sizes = [windowTokens, outputTokensMax, inputTokensMax];
  if (sizes.every((size) => size === undefined) && !isObject(capabilities)) return undefined;
  return {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
    ...(inputTokensMax === undefined ? {} : { inputTokensMax }),
    capabilities: isObject(capabilities) ? capabilities : {},
  };
}

function sizeAt(info: JsonObject, keys: readonly string[]): Tokens | undefined {
  for (const key of keys) {
    const size = field(info, key);
    if (typeof size === "number" && Number.isSafeInteger(size) && size > 0) return tokens(size);
  }
  return undefined;
}

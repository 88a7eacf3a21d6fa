import { type Tokens, tokens } from "../schema/brand.ts";
import { field, isObject, type Json, type JsonObject } from "../schema/json.ts";
import type { ModelDescription } from "../ports/model.ts";

/** Names under which a server tells a model's sizes, the first that it uses. */
export interface SizeKeys {
  readonly window: readonly string[];
  readonly output: readonly string[];
}

/** Undefined where the server's words say nothing that we can use. */
export function descriptionOf(info: Json, keys: SizeKeys): ModelDescription | undefined {
  if (!isObject(info)) return undefined;
  const windowTokens = sizeAt(info, keys.window);
  const outputTokensMax = sizeAt(info, keys.output);
  const capabilities = field(info, "capabilities");
  if (windowTokens === undefined && outputTokensMax === undefined && !isObject(capabilities)) return undefined;
  return {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
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

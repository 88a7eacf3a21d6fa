import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { jsonDepthMax } from "./limits.ts";
import { invalid, type Refusal } from "./refusal.ts";

/** Whether a value has more levels than may be walked by functions that call themselves, as all others here do. */
export function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > jsonDepthMax) return true;
    level = insideOf(level);
  }
  return false;
}

/** Lists and objects that stand in those of the level above. */
function insideOf(level: readonly Json[]): Json[] {
  const inside: Json[] = [];
  for (const one of level) {
    if (isArray(one)) {
      for (const item of one) if (typeof item === "object" && item !== null) inside.push(item);
    } else if (isObject(one)) {
      for (const item of Object.values(one)) if (typeof item === "object" && item !== null) inside.push(item);
    }
  }
  return inside;
}

export const tooDeep = (): Refusal => invalid(`The request body is nested more than ${jsonDepthMax} levels deep`);

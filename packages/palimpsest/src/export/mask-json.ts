import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { maskNamed, type MaskText } from "./mask-secrets.ts";

/** Fields whose bytes are signed, encrypted, or tie entries together: a change would break more than it hides. */
const untouched: ReadonlySet<string> = new Set([
  "signature",
  "encrypted_content",
  "encrypted_index",
  "uuid",
  "parentUuid",
  "logicalParentUuid",
  "leafUuid",
  "headUuid",
  "tailUuid",
  "anchorUuid",
  "uuids",
  "id",
  "sessionId",
  "agentId",
  "messageId",
  "requestId",
  "promptId",
  "tool_use_id",
  "toolUse",
  "toolUseID",
  "parentToolUseID",
  "sourceToolUseID",
  "sourceToolAssistantUUID",
  "compactedToolIds",
  "blob",
  "checkpoint",
  "sha256",
]);

/** What tools were given and returned: there a field called `id` or `signature` is anybody's. */
const freeFields: ReadonlySet<string> = new Set(["input", "toolUseResult"]);

interface Where {
  readonly inside: "envelope" | "tool";
  readonly levelsLeft: number;
}

/** Deeper than any tool's output, and shallow enough to be walked without running out of stack. */
const levelsMax = 500;
const tooDeep = "[left out: nested too deep to be masked]";

/** Every text of an entry masked, its form kept. Returns the very object where nothing was found. */
export function maskEntry(raw: JsonObject, mask: MaskText): JsonObject {
  return maskObject(raw, mask, { inside: "envelope", levelsLeft: levelsMax });
}

export const maskJson = (value: Json, mask: MaskText): Json =>
  masked(value, mask, { inside: "tool", levelsLeft: levelsMax });

function masked(value: Json, mask: MaskText, where: Where): Json {
  if (typeof value === "string") return mask(value);
  if (typeof value === "object" && value !== null && where.levelsLeft === 0) return tooDeep;
  if (isArray(value)) {
    const parts = value.map((part) => masked(part, mask, deeper(where)));
    return parts.some((part, at) => part !== value[at]) ? parts : value;
  }
  return isObject(value) ? maskObject(value, mask, where) : value;
}

function maskObject(object: JsonObject, mask: MaskText, where: Where): JsonObject {
  let changed: Record<string, Json> | undefined;
  for (const [key, value] of Object.entries(object)) {
    if (isKept(object, key, where)) continue;
    const named = typeof value === "string" ? maskNamed(key, value) : undefined;
    const next = named ?? masked(value, mask, deeper(freeFields.has(key) ? { ...where, inside: "tool" } : where));
    if (next === value) continue;
    changed ??= { ...object };
    changed[key] = next;
  }
  return changed ?? object;
}

function isKept(object: JsonObject, key: string, where: Where): boolean {
  if (key === "data") return object["type"] === "base64" || object["type"] === "redacted_thinking";
  if (key === "base64") return true;
  if (where.inside === "tool") return key === "signature" && "thinking" in object;
  return untouched.has(key);
}

const deeper = ({ inside, levelsLeft }: Where): Where => ({ inside, levelsLeft: levelsLeft - 1 });

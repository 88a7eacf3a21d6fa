import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { namedSecretKind, secretMark } from "../text/find-secrets.ts";

/** `maskSecrets`, or any other rule set with its signature: the same secret always gets the same mark. */
export type MaskText = (text: string) => string;

/** Fields that are signed, encrypted, or link entries: changing them would break more than it hides. */
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

/** Inputs and outputs of tools: there a field called `id` or `signature` may contain anything. */
const freeFields: ReadonlySet<string> = new Set(["input", "toolUseResult"]);

interface MaskOptions {
  /**
   * `kept`: blocks with a signature stay whole, since the provider refuses one whose text no longer fits it. By default
   * only the signature stays: nobody sends an export to a provider.
   */
  readonly signed?: "kept" | "masked";
  /** Called for values that only the name of their field gives away. */
  readonly onNamed?: (kind: string, value: string) => void;
}

interface MaskContext extends MaskOptions {
  readonly inside: "envelope" | "tool";
  readonly levelsLeft: number;
}

/** Deeper than any tool's output, and shallow enough not to overflow the stack. */
const levelsMax = 500;
const tooDeep = "[left out: nested too deep to be masked]";

/** Masks every text of an entry and keeps its structure. Returns the same object if nothing was found. */
export function maskEntry(raw: JsonObject, mask: MaskText, options: MaskOptions = {}): JsonObject {
  return maskObject(raw, mask, { inside: "envelope", levelsLeft: levelsMax, ...options });
}

export const maskJson = (value: Json, mask: MaskText): Json =>
  maskValue(value, mask, { inside: "tool", levelsLeft: levelsMax });

function maskValue(value: Json, mask: MaskText, context: MaskContext): Json {
  if (typeof value === "string") return mask(value);
  if (typeof value === "object" && value !== null && context.levelsLeft === 0) return tooDeep;
  if (isArray(value)) {
    const parts = value.map((part) => maskValue(part, mask, deeper(context)));
    return parts.some((part, at) => part !== value[at]) ? parts : value;
  }
  return isObject(value) ? maskObject(value, mask, context) : value;
}

function maskObject(object: JsonObject, mask: MaskText, context: MaskContext): JsonObject {
  if (context.signed === "kept" && context.inside === "envelope" && isSigned(object)) return object;
  let changed: Record<string, Json> | undefined;
  for (const [key, value] of Object.entries(object)) {
    if (isKept(object, key, context)) continue;
    const inner: MaskContext = freeFields.has(key) ? { ...context, inside: "tool" } : context;
    const kindByName = typeof value === "string" ? namedSecretKind(key, value) : undefined;
    const masked = kindByName === undefined ? maskValue(value, mask, deeper(inner)) : secretMark(kindByName);
    if (masked === value) continue;
    if (kindByName !== undefined && typeof value === "string") context.onNamed?.(kindByName, value);
    changed ??= { ...object };
    changed[key] = masked;
  }
  return changed ?? object;
}

function isKept(object: JsonObject, key: string, context: MaskContext): boolean {
  if (key === "data") return object["type"] === "base64" || object["type"] === "redacted_thinking";
  if (key === "base64") return true;
  if (context.inside === "tool") return key === "signature" && "thinking" in object;
  return untouched.has(key);
}

const isSigned = (block: JsonObject): boolean =>
  ["signature", "encrypted_content"].some((name) => typeof block[name] === "string" && block[name] !== "");

const deeper = (context: MaskContext): MaskContext => ({ ...context, levelsLeft: context.levelsLeft - 1 });

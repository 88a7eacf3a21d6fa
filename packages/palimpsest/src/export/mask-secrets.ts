import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";

/**
 * Replaces each secret in a text by `[secret: <kind>]`. Any other rule set with this signature can be used instead. The same
 * secret always gets the same mark, and masking twice changes nothing.
 */
export type MaskText = (text: string) => string;

const secretMark = (kind: string): string => `[secret: ${kind}]`;

/** The default rules: first secrets with a recognisable format, then values after a name that indicates a secret. */
export const maskSecrets: MaskText = (text) => {
  let masked = text;
  for (const { kind, shape } of shapes) masked = masked.replaceAll(shape, secretMark(kind));
  masked = masked.replaceAll(urlPassword, (whole, before: string, password: string) =>
    isPlaceholder(password) ? whole : `${before}:${secretMark("password")}@`,
  );
  masked = masked.replaceAll(authorization, (whole, before: string, value: string) =>
    hasLetterAndDigit(value) ? `${before}${secretMark("authorization")}` : whole,
  );
  return masked.replaceAll(assignment, maskAssignment);
};

/** For a value with a name, as in a JSON object or an environment. */
function maskNamed(name: string, value: string): string | undefined {
  return secretName.test(name) && looksSecret(value, "quoted") ? secretMark(kindOfName(name)) : undefined;
}

interface Shape {
  readonly kind: string;
  readonly shape: RegExp;
}

/** The bounds keep the search linear: without them a long run of plain characters would be searched again at each position. */
const shapes: readonly Shape[] = [
  {
    kind: "private-key",
    shape:
      /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-----?END)){24,16384}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  // A key that was cut off by a limit or a preview: the rest of it is masked.
  {
    kind: "private-key",
    shape:
      /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:\\r|\\n|\s){1,8}[A-Za-z0-9+/=]{16,})+(?:(?:\\r|\\n|[\r\n]){1,4}[A-Za-z0-9+/=]+$)?/g,
  },
  { kind: "anthropic-key", shape: /\bsk-ant-[A-Za-z0-9_-]{16,}/g },
  { kind: "openai-key", shape: /\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}\b/g },
  { kind: "github-token", shape: /\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}/g },
  { kind: "gitlab-token", shape: /\bglpat-[A-Za-z0-9_-]{20,}/g },
  { kind: "aws-key", shape: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g },
  { kind: "gcp-key", shape: /\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}/g },
  { kind: "slack-webhook", shape: /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{20,}/g },
  { kind: "slack-token", shape: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}/g },
  { kind: "stripe-key", shape: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}/g },
  { kind: "npm-token", shape: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { kind: "pypi-token", shape: /\bpypi-AgEI[A-Za-z0-9_-]{40,}/g },
  { kind: "huggingface-token", shape: /\bhf_[A-Za-z0-9]{30,}\b/g },
  { kind: "sendgrid-key", shape: /\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/g },
  { kind: "jwt", shape: /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
];

const urlPassword = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>]{0,200}):([^\s/@"'`<>]{1,200})@/gi;
const authorization =
  /\b((?:Bearer|Authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:Basic|Token))\s{1,3})([A-Za-z0-9._~+/-]{16,}={0,2})/gi;

const secretName =
  /(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?)$/i;

/** `--password x`, `password=x`, `"password": "x"`, `PASSWORD=x`, `api_key: x`. */
const assignment = new RegExp(
  String.raw`(--(?:[a-z]{1,20}-){0,3})?` +
    String.raw`(passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?)` +
    String.raw`(\\?["']?(?:[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}|[ \t]{1,4}))` +
    "(?:(\\\\?[\"'`])([^\"'`\\n\\\\]{4,512})\\4|([^\\s\"'`,;(){}\\[\\]<>|&\\\\]{4,512}(?![\\w(])))",
  "gi",
);

function maskAssignment(whole: string, ...groups: readonly (string | number | undefined)[]): string {
  const [flag, name, between, quote, quoted, bare] = groups.map((group) =>
    typeof group === "string" ? group : undefined,
  );
  if (name === undefined || between === undefined) return whole;
  // Without a separator between name and value it is prose, unless the name is a command-line option.
  if (between.trim() === "" && flag === undefined) return whole;
  const value = quoted ?? bare ?? "";
  const isSetting = name === name.toUpperCase() && between === "=";
  const notation = quoted !== undefined ? "quoted" : isSetting || flag !== undefined ? "setting" : "bare";
  if (!looksSecret(value, notation)) return whole;
  const mark = secretMark(kindOfName(name));
  return `${flag ?? ""}${name}${between}${quote ?? ""}${mark}${quote ?? ""}`;
}

function kindOfName(name: string): string {
  const lower = name.toLowerCase();
  if (/passw|pwd|passphrase/.test(lower)) return "password";
  if (lower.endsWith("token")) return "token";
  return lower.endsWith("key") ? "key" : "secret";
}

/** Code is full of `token = next()` and `password: string`: only a literal value can be a secret. */
function looksSecret(value: string, notation: "quoted" | "setting" | "bare"): boolean {
  if (isPlaceholder(value) || /\s/.test(value)) return false;
  if (/^(?:https?:|[.~]?\/|[A-Z]:\\)/i.test(value)) return false;
  switch (notation) {
    case "setting":
      return value.length >= 4 && !/^\d{1,3}$/.test(value);
    case "quoted":
      return (
        value.length >= 6 &&
        !isWords(value) &&
        (value.length >= 16 || hasLetterAndDigit(value) || /[^\w.:-]/.test(value))
      );
    case "bare":
      return value.length >= 6 && !isExpression(value) && hasLetterAndDigit(value);
  }
}

/** `${password}`, `<token>`, `%s`, `your-api-key`, `****`, and values that are masked already. */
const isPlaceholder = (value: string): boolean =>
  /^(?:[$%<{[]|\\?u003c|x{3,}|\*+|\.{3}|your|my[-_]|example|changeme|placeholder|redacted|dummy|test[-_]?|fake|null|none|undefined|true|false|string|number|process\.|os\.|env\.)/i.test(
    value,
  );

/** Names and text keys: words joined by punctuation, or a single word. */
const isWords = (value: string): boolean =>
  /^[a-z]+(?:[._/:-][a-z]+)*$/i.test(value) &&
  (/[._/:-]/.test(value) || /^[A-Z]?[a-z]*(?:[A-Z][a-z]+)*$|^[A-Z]+$/.test(value));

/** `config.token2`, `sha256_of_x`, `arr[0].token`: an identifier or a property path. */
const isExpression = (value: string): boolean =>
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value) ||
  /^[a-z]+(?:[A-Z_][a-z0-9]*)+$/.test(value) ||
  (/^[a-z]+\d{1,2}$/.test(value) && value.length < 6);

const hasLetterAndDigit = (value: string): boolean => /[A-Za-z]/.test(value) && /\d/.test(value);

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

interface MaskContext {
  readonly inside: "envelope" | "tool";
  readonly levelsLeft: number;
}

/** Deeper than any tool's output, and shallow enough not to overflow the stack. */
const levelsMax = 500;
const tooDeep = "[left out: nested too deep to be masked]";

/** Masks every text of an entry and keeps its structure. Returns the same object if nothing was found. */
export function maskEntry(raw: JsonObject, mask: MaskText): JsonObject {
  return maskObject(raw, mask, { inside: "envelope", levelsLeft: levelsMax });
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
  let changed: Record<string, Json> | undefined;
  for (const [key, value] of Object.entries(object)) {
    if (isKept(object, key, context)) continue;
    const inner: MaskContext = freeFields.has(key) ? { ...context, inside: "tool" } : context;
    const byName = typeof value === "string" ? maskNamed(key, value) : undefined;
    const masked = byName ?? maskValue(value, mask, deeper(inner));
    if (masked === value) continue;
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

const deeper = ({ inside, levelsLeft }: MaskContext): MaskContext => ({ inside, levelsLeft: levelsLeft - 1 });

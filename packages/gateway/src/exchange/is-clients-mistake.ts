import { classifyRefusal, type Provider } from "palimpsest/internal/context/provider-formats";
import { millis } from "palimpsest/internal/schema/brand";
import { field, isObject, type Json, textField, tryParseJson } from "palimpsest/internal/schema/json";

export interface RefusedRequest {
  readonly provider: Provider;
  readonly status: number;
  /** The reply's body, as text. */
  readonly error: string;
  /** Names of fields that the gateway changed. */
  readonly changes: readonly string[];
  /** Whether the original request has this field. */
  readonly hasField: (name: string) => boolean;
}

/**
 * Whether a request was clearly refused for something that is the client's own: the account, or a field that was sent as the
 * client wrote it and that no change of ours can make wrong. Then the original request would be refused too.
 */
export function isClientsMistake({ provider, status, error, changes, hasField }: RefusedRequest): boolean {
  const body = tryParseJson(error) ?? error;
  const { why, part } = classifyRefusal(provider, { now: () => millis(0) }, { status, body });
  if (why === "unauthorised" || why === "spend-limit" || why === "not-found") return true;
  if (why !== "refused" || part !== undefined) return false;
  const name = findNamedField(body, hasField);
  if (name === undefined || changes.includes(name)) return false;
  return !related.has(name) || !changes.some((change) => related.has(change));
}

/** Fields that are checked against each other: a change of one can make another one wrong. */
const related: ReadonlySet<string> = new Set([
  "messages",
  "input",
  "system",
  "instructions",
  "tools",
  "tool_choice",
  "thinking",
  "reasoning",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "cache_control",
  "context_management",
]);

/** The field that an error is about: OpenAI has its name in `param`, Anthropic at the beginning of the message. */
function findNamedField(body: Json, hasField: (name: string) => boolean): string | undefined {
  const inner = isObject(body) ? (field(body, "error") ?? body) : undefined;
  if (!isObject(inner)) return undefined;
  const message = textField(inner, "message") ?? "";
  const param = textField(inner, "param");
  const named = param ?? /^`?(?<name>[a-z][a-z_]*(?:[.[][^\s:`]*)?)(?::\s|`\s)/.exec(message)?.groups?.["name"];
  const [name] = named?.split(/[.[]/) ?? [];
  if (name === undefined) return undefined;
  return hasField(name) || missing.test(message) ? name : undefined;
}

/** Matches errors about a field that the client did not send. */
const missing = /(?:field|parameter)s? (?:is |are )?(?:required|missing)|missing required/i;

import type { Refusal } from "../refusal.ts";
import type { z } from "zod";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";

/** A request that this API rejects, in OpenAI's format. */
export interface OpenAiRefusal {
  readonly kind: "refused";
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  /** Whole seconds, for the `retry-after` header. */
  readonly retryAfterSeconds?: number;
}

type RefusalDetails = Partial<Pick<OpenAiRefusal, "status" | "type" | "param" | "code">>;

export const refuseRequest = (message: string, details: RefusalDetails = {}): OpenAiRefusal => ({
  kind: "refused",
  status: 400,
  type: "invalid_request_error",
  param: null,
  code: null,
  ...details,
  message,
});

export const openAiErrorBody = ({ message, type, param, code }: OpenAiRefusal): object => ({
  error: { message, type, param, code },
});

export const missingKey = (): OpenAiRefusal =>
  refuseRequest(
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    { status: 401 },
  );

export const modelNotFound = (name: string): OpenAiRefusal =>
  refuseRequest(`The model \`${name}\` does not exist or you do not have access to it.`, {
    status: 404,
    code: "model_not_found",
  });

export const compactionUnavailable = (): OpenAiRefusal =>
  refuseRequest("Compaction is unavailable for the moment. Please try again later.", {
    status: 503,
    type: "server_error",
    code: compactionUnavailableCode,
  });

export const compactionUnavailableCode = "compaction_unavailable";

export const parameterNotSupported = (param: string, instead?: string): OpenAiRefusal =>
  refuseRequest(
    `Unsupported parameter: '${param}' is not supported with this model.${instead === undefined ? "" : ` Use '${instead}' instead.`}`,
    { param, code: "unsupported_parameter" },
  );

export const invalidValue = (
  value: string,
  { param, supported }: { readonly param: string; readonly supported: readonly string[] },
): OpenAiRefusal =>
  refuseRequest(`Invalid value: '${value}'. Supported values are: ${formatChoices(supported)}.`, {
    param,
    code: "invalid_value",
  });

const formatChoices = (values: readonly string[]): string => {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 3) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
};

/**
 * Translates a refusal in the Messages API's terms, from a responder, a fault or a body: an overload is a 503 here, and
 * a failure on the server is a `server_error`.
 */
export function translateRefusal(refusal: Refusal): OpenAiRefusal {
  const { retryAfterSeconds: wait, errorCode } = refusal;
  const more = wait === undefined ? {} : { retryAfterSeconds: wait };
  switch (refusal.type) {
    case "rate_limit_error":
      return {
        ...refuseRequest(refusal.message, { status: 429, type: "requests", code: "rate_limit_exceeded" }),
        ...more,
      };
    case "overloaded_error":
      return {
        ...refuseRequest("The engine is currently overloaded, please try again later.", {
          status: 503,
          type: "server_error",
          code: "server_overloaded",
        }),
        ...more,
      };
    case "api_error":
    case "timeout_error":
      return refuseRequest(refusal.message, { status: refusal.status, type: "server_error" });
    case "billing_error":
      return refuseRequest(refusal.message, { status: 429, type: "insufficient_quota", code: "insufficient_quota" });
    case "authentication_error":
      return refuseRequest(refusal.message, { status: 401, code: "invalid_api_key" });
    case "invalid_request_error":
    case "permission_error":
    case "not_found_error":
    case "conflict_error":
    case "request_too_large":
      return refuseRequest(refusal.message, { status: refusal.status, code: errorCode ?? null });
  }
}

type Issue = z.core.$ZodIssue;
type IssuePath = readonly PropertyKey[];

/** Reports a schema's issues in the provider's words and with its paths: `messages[0].content[1].type`. */
export function shapeRefusal(issues: readonly Issue[], body: Json): OpenAiRefusal {
  const [first] = issues;
  if (first === undefined) throw new Error("a schema refused a body without saying why");
  const { issue, path } = innermost(first);
  if (issue.code === "unrecognized_keys") {
    const param = formatPath([...path, issue.keys[0] ?? ""]);
    return refuseRequest(`Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
  }
  const param = formatPath(path);
  const value = valueAt(body, path);
  if (value === undefined)
    return refuseRequest(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
  return issueRefusal(issue, { param, value });
}

/** If no branch of a union fits, the branch that got furthest beyond the tags is taken as the intended one. */
function innermost(issue: Issue, base: IssuePath = []): FoundIssue {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { issue, path };
  const branches = issue.errors.flatMap((errors) => (errors[0] === undefined ? [] : [innermost(errors[0], path)]));
  return branches.toSorted((one, other) => issueDepth(other) - issueDepth(one))[0] ?? { issue, path };
}

/** A tag that does not fit only says that another branch was meant; a wrong type says so too, but less clearly. */
function issueDepth({ issue, path }: FoundIssue): number {
  if (path.at(-1) === "type") return path.length - 0.5;
  return path.length - (issue.code === "invalid_type" ? 0.25 : 0);
}

interface FoundIssue {
  readonly issue: Issue;
  readonly path: IssuePath;
}

interface IssuePlace {
  readonly param: string;
  readonly value: Json;
}

function issueRefusal(issue: Issue, place: IssuePlace): OpenAiRefusal {
  const { param, value } = place;
  switch (issue.code) {
    case "invalid_type":
      return refuseRequest(
        `Invalid type for '${param}': expected ${nameExpectedType(issue.expected)}, but got ${kindName(value)} instead.`,
        { param, code: "invalid_type" },
      );
    case "invalid_value":
      return invalidValue(formatValue(value), { param, supported: issue.values.map(String) });
    case "too_small":
    case "too_big":
      return outOfRange(issue, place);
    case "invalid_union":
      return invalidValue(formatValue(value), { param, supported: unionOptions(issue) });
    default:
      return refuseRequest(`Invalid '${param}': ${issue.message}.`, { param, code: "invalid_value" });
  }
}

/** A discriminated union lists the tags that it knows. */
const unionOptions = (issue: Issue): readonly string[] =>
  "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];

type RangeIssue = Extract<Issue, { code: "too_small" | "too_big" }>;

function outOfRange(issue: RangeIssue, { param, value }: IssuePlace): OpenAiRefusal {
  const isBig = issue.code === "too_big";
  const bound = Number(issue.code === "too_big" ? issue.maximum : issue.minimum);
  if (isArray(value) || typeof value === "string") {
    const what = isArray(value) ? "an array" : "a string";
    const word = what.split(" ")[1] ?? "";
    const side = isBig ? "maximum" : "minimum";
    return refuseRequest(
      `Invalid '${param}': ${word} too ${isBig ? "long" : "short"}. Expected ${what} with ${side} length ${bound}, but got ${what} with length ${value.length} instead.`,
      { param, code: `${word}_${isBig ? "above_max" : "below_min"}_length` },
    );
  }
  const word = Number.isInteger(value) && Number.isInteger(bound) ? "integer" : "decimal";
  const side = isBig ? "above maximum" : "below minimum";
  return refuseRequest(
    `Invalid '${param}': ${word} ${side} value. Expected a value ${isBig ? "<=" : ">="} ${bound}, but got ${formatValue(value)} instead.`,
    { param, code: `${word}_${isBig ? "above_max" : "below_min"}_value` },
  );
}

const formatPath = (path: IssuePath): string =>
  path.reduce<string>(
    (sum, step) => (typeof step === "number" ? `${sum}[${step}]` : `${sum}${sum === "" ? "" : "."}${String(step)}`),
    "",
  );

function valueAt(body: Json, path: IssuePath): Json | undefined {
  let value: Json | undefined = body;
  for (const step of path) {
    if (isArray(value) && typeof step === "number") value = value[step];
    else value = isObject(value) ? value[String(step)] : undefined;
  }
  return value;
}

const formatValue = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const nameByType: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a decimal",
  int: "an integer",
  boolean: "a boolean",
  array: "an array of objects",
  object: "an object",
  record: "an object",
};

const nameExpectedType = (expected: string): string => nameByType[expected] ?? `one of ${expected}`;

function kindName(value: Json): string {
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return nameByType[typeof value] ?? typeof value;
}

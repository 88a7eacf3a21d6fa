import type { Refusal } from "../refusal.ts";

/** A request that this face does not take, as OpenAI says so. */
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

type Told = Partial<Pick<OpenAiRefusal, "status" | "type" | "param" | "code">>;

export const refused = (message: string, told: Told = {}): OpenAiRefusal => ({
  kind: "refused",
  status: 400,
  type: "invalid_request_error",
  param: null,
  code: null,
  ...told,
  message,
});

export const errorBodyOf = ({ message, type, param, code }: OpenAiRefusal): object => ({
  error: { message, type, param, code },
});

export const noKey = (): OpenAiRefusal =>
  refused(
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    { status: 401 },
  );

export const unknownModelOf = (name: string): OpenAiRefusal =>
  refused(`The model \`${name}\` does not exist or you do not have access to it.`, {
    status: 404,
    code: "model_not_found",
  });

export const compactionUnavailable = (): OpenAiRefusal =>
  refused("Compaction is unavailable for the moment. Please try again later.", {
    status: 503,
    type: "server_error",
    code: compactionUnavailableCode,
  });

export const compactionUnavailableCode = "compaction_unavailable";

export const unsupportedParameter = (param: string, instead?: string): OpenAiRefusal =>
  refused(
    `Unsupported parameter: '${param}' is not supported with this model.${instead === undefined ? "" : ` Use '${instead}' instead.`}`,
    { param, code: "unsupported_parameter" },
  );

export const invalidValue = (value: string, { param, supported }: InvalidValue): OpenAiRefusal =>
  refused(`Invalid value: '${value}'. Supported values are: ${listed(supported)}.`, { param, code: "invalid_value" });

export interface InvalidValue {
  readonly param: string;
  readonly supported: readonly string[];
}

const listed = (values: readonly string[]): string => {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 3) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
};

/**
 * What an actor, a fault or a body refuses in the other provider's terms, in this one's: an overload is a 503 here, and
 * what failed on the server is a `server_error`.
 */
export function translated(refusal: Refusal): OpenAiRefusal {
  const { retryAfterSeconds: wait, errorCode } = refusal;
  const more = wait === undefined ? {} : { retryAfterSeconds: wait };
  switch (refusal.type) {
    case "rate_limit_error":
      return {
        ...refused(refusal.message, { status: 429, type: "requests", code: "rate_limit_exceeded" }),
        ...more,
      };
    case "overloaded_error":
      return {
        ...refused("The engine is currently overloaded, please try again later.", {
          status: 503,
          type: "server_error",
          code: "server_overloaded",
        }),
        ...more,
      };
    case "api_error":
    case "timeout_error":
      return refused(refusal.message, { status: refusal.status, type: "server_error" });
    case "billing_error":
      return refused(refusal.message, { status: 429, type: "insufficient_quota", code: "insufficient_quota" });
    case "authentication_error":
      return refused(refusal.message, { status: 401, code: "invalid_api_key" });
    case "invalid_request_error":
    case "permission_error":
    case "not_found_error":
    case "conflict_error":
    case "request_too_large":
      return refused(refusal.message, { status: refusal.status, code: errorCode ?? null });
  }
}

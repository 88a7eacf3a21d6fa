import { type ErrorBody, type ErrorType, statusByErrorType } from "palimpsest/internal/schema/wire/reply-message";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { jsonDepthMax } from "./limits.ts";

/** A request that the API rejects, and the error that it answers with. */
export interface Refusal {
  readonly kind: "refused";
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly errorCode?: string;
  /** For `thread_unsupported_request`: the features that it cannot be combined with. */
  readonly unsupported?: readonly string[];
  /** Whole seconds, for the `retry-after` header. */
  readonly retryAfterSeconds?: number;
}

export const refusal = (type: ErrorType, message: string, more: Partial<Refusal> = {}): Refusal => ({
  kind: "refused",
  status: statusByErrorType[type],
  type,
  message,
  ...more,
});

/**
 * The usual kind: something in the body is wrong. `path` is written as the API names places: `messages.3.content.0`.
 */
export const invalid = (message: string, path?: string): Refusal =>
  refusal("invalid_request_error", path === undefined ? message : `${path}: ${message}`);

export const errorBody = (refused: Refusal, requestId: string | null): ErrorBody => {
  const { type, message, errorCode, unsupported } = refused;
  const details = errorCode === undefined ? undefined : { error_code: errorCode, ...(unsupported && { unsupported }) };
  return {
    type: "error",
    error: { type, message, ...(details === undefined ? {} : { details }) },
    request_id: requestId,
  };
};

/** Whether a value is nested too deeply for recursive functions, as all others here are. This one is not recursive. */
export function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > jsonDepthMax) return true;
    level = childContainers(level);
  }
  return false;
}

/** The lists and objects directly inside those of the level above. */
function childContainers(level: readonly Json[]): Json[] {
  const inside: Json[] = [];
  for (const container of level) {
    if (isArray(container)) {
      for (const item of container) if (typeof item === "object" && item !== null) inside.push(item);
    } else if (isObject(container)) {
      for (const item of Object.values(container)) if (typeof item === "object" && item !== null) inside.push(item);
    }
  }
  return inside;
}

export const tooDeepRefusal = (): Refusal =>
  invalid(`The request body is nested more than ${jsonDepthMax} levels deep`);

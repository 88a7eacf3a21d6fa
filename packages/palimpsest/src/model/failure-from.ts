import type { ClockDep } from "../ports/clock.ts";
import type { ModelFailure } from "../ports/model.ts";
import { abortedFailure, connectionFailure, failureOf, type FailureRule, type ServerError } from "./failure.ts";

export interface FailureFromDeps extends ClockDep {
  readonly rules: readonly FailureRule[];
}

/**
 * What an error means that somebody else's client threw, or a status with a body. Looks at its fields alone: an SDK may be
 * installed twice, and then its classes are others.
 */
export function failureFrom({ rules, now }: FailureFromDeps, error: unknown): ModelFailure {
  if (!isRecord(error)) return connectionFailure(error);
  if (error["name"] === "AbortError" || error["name"] === "APIUserAbortError") return abortedFailure;
  const said = innermost(error["error"] ?? error["body"]);
  if (numberIn(error, "status") === undefined && said === undefined) return connectionFailure(error);
  return failureOf({ rules, now }, serverErrorOf(error, said));
}

function serverErrorOf(error: Fields, said: Fields | undefined): ServerError {
  const bodyText = typeof error["body"] === "string" ? error["body"] : undefined;
  return {
    status: numberIn(error, "status"),
    type: textIn(said, "type"),
    code: textIn(said, "code") ?? textIn(error, "code"),
    message: textIn(said, "message") ?? bodyText ?? textIn(error, "message") ?? "",
    headers: headersIn(error["headers"]),
    requestId: textIn(error, "requestID") ?? textIn(error, "request_id"),
  };
}

/** Bodies are `{ type: "error", error: { type, message } }`, or the inner part of that. */
function innermost(value: unknown): Fields | undefined {
  const fields = typeof value === "string" ? parsed(value) : value;
  if (!isRecord(fields)) return undefined;
  return isRecord(fields["error"]) ? fields["error"] : fields;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headersIn(value: unknown): Headers | undefined {
  if (value instanceof Headers) return value;
  if (!isRecord(value)) return undefined;
  const pairs = Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return new Headers(pairs);
}

type Fields = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const textIn = (fields: Fields | undefined, name: string): string | undefined =>
  typeof fields?.[name] === "string" ? fields[name] : undefined;

const numberIn = (fields: Fields, name: string): number | undefined =>
  typeof fields[name] === "number" ? fields[name] : undefined;

import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelFailure } from "../../ports/model-port.ts";
import { abortedFailure, connectionFailure, classifyServerError, type ServerError, openaiRules } from "../failure.ts";

interface ClassifyErrorDeps extends ClockDep {
  /** As requests are sent to it. */
  readonly baseUrl: string;
}

/** What an error of the SDK, or of the connection beneath it, means. */
export function classifyError({ now, baseUrl }: ClassifyErrorDeps, error: unknown): ModelFailure {
  if (error instanceof APIUserAbortError) return abortedFailure;
  if (error instanceof APIConnectionTimeoutError) return { why: "timeout", retry: "later", message: error.message };
  if (error instanceof APIConnectionError) return connectionFailure(error);
  if (!isApiError(error)) return connectionFailure(error);
  const failure = classifyServerError({ rules: openaiRules, now }, toServerError(error));
  const isWrongPlace = error.status === 404 && serverCode(error) !== "model_not_found" && !versioned.test(baseUrl);
  return isWrongPlace ? { ...failure, message: `${failure.message} ${mayNeedVersion(baseUrl)}` } : failure;
}

/** Most servers of this form have their chat completions beneath a version; the form does not add one. */
const versioned = /\/v\d/;
const mayNeedVersion = (baseUrl: string): string => {
  const given = baseUrl.replace(/\/+$/, "");
  return `(Asked at ${given}/chat/completions; most servers want the base URL to end in /v1: ${given}/v1)`;
};

const isApiError = (error: unknown): error is APIError => error instanceof APIError;

const silentForm = /^\d{3} status code \(no body\)$/;

function toServerError(error: APIError): ServerError {
  const code = serverCode(error);
  // Inside a stream, some servers give the status as the code.
  const status = error.status ?? statusIn(code);
  return {
    status,
    type: error.type,
    code: code === undefined ? undefined : String(code),
    message: silentForm.test(error.message) ? "" : error.message,
    headers: error.headers,
    requestId: error.requestID ?? undefined,
  };
}

/** The SDK hands on whatever the server called a code. */
const serverCode = ({ code }: { readonly code?: unknown }): string | number | undefined =>
  typeof code === "string" || typeof code === "number" ? code : undefined;

function statusIn(code: string | number | undefined): number | undefined {
  const status = Number(code);
  return status >= 400 && status < 600 ? status : undefined;
}

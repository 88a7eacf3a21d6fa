import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelFailure } from "../../ports/model-port.ts";
import { abortedFailure, connectionFailure, classifyServerError, type ServerError, openaiRules } from "../failure.ts";

/** Classifies an error of the SDK or of the connection below it. `baseUrl` is the one that requests are sent to. */
export function classifyError({ now, baseUrl }: ClockDep & { readonly baseUrl: string }, error: unknown): ModelFailure {
  if (error instanceof APIUserAbortError) return abortedFailure;
  if (error instanceof APIConnectionTimeoutError) return { why: "timeout", retry: "later", message: error.message };
  if (error instanceof APIConnectionError) return connectionFailure(error);
  if (!isApiError(error)) return connectionFailure(error);
  const failure = classifyServerError({ rules: openaiRules, now }, toServerError(error));
  const lacksVersion = error.status === 404 && serverCode(error) !== "model_not_found" && !versioned.test(baseUrl);
  return lacksVersion ? { ...failure, message: `${failure.message} ${versionHint(baseUrl)}` } : failure;
}

/** Most servers expect a version in the URL, and the SDK does not add one. */
const versioned = /\/v\d/;
const versionHint = (baseUrl: string): string => {
  const url = baseUrl.replace(/\/+$/, "");
  return `(Asked at ${url}/chat/completions; most servers want the base URL to end in /v1: ${url}/v1)`;
};

const isApiError = (error: unknown): error is APIError => error instanceof APIError;

const emptyBodyMessage = /^\d{3} status code \(no body\)$/;

function toServerError(error: APIError): ServerError {
  const code = serverCode(error);
  // Inside a stream, some servers send the status as the code.
  const status = error.status ?? statusIn(code);
  return {
    status,
    type: error.type,
    code: code === undefined ? undefined : String(code),
    message: emptyBodyMessage.test(error.message) ? "" : error.message,
    headers: error.headers,
    requestId: error.requestID ?? undefined,
  };
}

/** The SDK passes on any value that the server sent as the code. */
const serverCode = ({ code }: { readonly code?: unknown }): string | number | undefined =>
  typeof code === "string" || typeof code === "number" ? code : undefined;

function statusIn(code: string | number | undefined): number | undefined {
  const status = Number(code);
  return status >= 400 && status < 600 ? status : undefined;
}

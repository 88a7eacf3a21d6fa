import type { ClientRequest } from "./exchange.ts";

/**
 * A thread sends only what is new, so the server would have to keep the list; what a server keeps can't be made smaller. The
 * SDK then sends the whole list. Undefined: the request has no thread.
 */
export function refuseThread({ provider, operation, body }: ClientRequest) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (provider !== "anthropic" || operation !== "create" || !hasThread(bytes)) return undefined;
  const message = "The gateway keeps conversations itself: send the whole list, without a thread.";
  const details = { error_code: "thread_unsupported_request", unsupported: ["context_management"] };
  const error = { type: "error", error: { type: "invalid_request_error", message, details } };
  return {
    status: 400,
    headers: { "content-type": "application/json", "x-should-retry": "false" },
    body: Buffer.from(JSON.stringify(error)),
  };
}

/** Looked for in the bytes first: a body is rarely parsed twice. */
function hasThread(bytes: Buffer): boolean {
  return (
    /"thread"\s*:\s*\{\s*"(?:type|previous_message_id)"/.test(bytes.subarray(0, headBytes).toString("latin1")) ||
    /"thread"\s*:\s*\{\s*"(?:type|previous_message_id)"/.test(bytes.subarray(-headBytes).toString("latin1"))
  );
}

/** Fields stand before or behind the list of messages. */
const headBytes = 2_048;

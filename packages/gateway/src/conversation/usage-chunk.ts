import type { Provider } from "palimpsest/internal/context/provider-formats";
import { isObject } from "palimpsest/internal/schema/json";
import type { RequestBody } from "../body/request-body.ts";
import type { FieldChanges } from "../body/write-body.ts";

/**
 * A streamed chat completion says its usage only if it is asked to. The gateway asks, for what the user has spent, and keeps the
 * answer from a client that did not. Nothing, if the client asked or the reply says it anyway.
 */
export function missingUsage(provider: Provider, body: RequestBody): FieldChanges {
  if (provider !== "openai-chat" || body.field("stream") !== true) return {};
  const given = body.field("stream_options");
  const options = isObject(given) ? given : {};
  return options["include_usage"] === true ? {} : { stream_options: { ...options, include_usage: true } };
}

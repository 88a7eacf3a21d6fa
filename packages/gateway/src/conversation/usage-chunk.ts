import type { Provider } from "palimpsest/internal/context/provider-formats";
import { isObject } from "palimpsest/internal/schema/json";
import type { RequestBody } from "../body/request-body.ts";
import type { FieldChanges } from "../body/write-body.ts";

/**
 * A streamed chat completion reports its usage only on request. The gateway asks for it to compute the cost and hides it from
 * a client that did not ask. Returns no change if the client asked itself or the API always reports usage.
 */
export function missingUsage(provider: Provider, body: RequestBody): FieldChanges {
  if (provider !== "openai-chat" || body.field("stream") !== true) return {};
  const given = body.field("stream_options");
  const options = isObject(given) ? given : {};
  return options["include_usage"] === true ? {} : { stream_options: { ...options, include_usage: true } };
}

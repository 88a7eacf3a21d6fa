import type { NextRequest } from "../outcomes.ts";
import { type Params, type Provider, toProviderParams } from "../provider-formats.ts";
import type { AssembledRequest } from "./assemble-request.ts";

/** The parameters are written when they are read first: a caller that sends its own messages never reads them. */
export function toNextRequest<P extends Provider>(
  provider: P,
  { request, tokens }: Pick<AssembledRequest, "request" | "tokens">,
): NextRequest<P> {
  let params: Params<P> | undefined;
  return {
    get params() {
      return (params ??= toProviderParams(provider, request));
    },
    maxTokens: request.maxTokens,
    betas: request.betas,
    tokens,
  };
}

import {
  type Context,
  context,
  isSpanContextValid,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { GatewayListener, RequestEnd, RequestStart } from "./gateway-event.ts";

/**
 * A listener that records each request as a span of OpenTelemetry, by its GenAI and HTTP conventions. Without an SDK that the
 * program has set up, the API does nothing. Names, numbers and reasons only: no text, no key.
 */
export function recordSpans(): GatewayListener {
  const spanById = new Map<number, Span>();
  return (event) => {
    if (event.kind === "request-start") spanById.set(event.id, startSpan(event));
    if (event.kind !== "request-end") return;
    const span = spanById.get(event.id);
    spanById.delete(event.id);
    if (span !== undefined) endSpan(span, event);
  };
}

/** At each request: an SDK may be set up after this listener was made. */
const startSpan = ({ user, provider, operation, traceparent }: RequestStart): Span =>
  trace.getTracer("palimpsest-gateway").startSpan(
    `gateway ${operation}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        "gen_ai.operation.name": operation === "create" ? "chat" : operation,
        "gen_ai.provider.name": provider === "anthropic" ? "anthropic" : "openai",
        "palimpsest.gateway.user": user,
      },
    },
    parentContext(traceparent),
  );

/** The client's span by the header of W3C Trace Context. Read here, since an SDK may have no propagator. */
function parentContext(traceparent = ""): Context {
  const [, traceId = "", spanId = "", flags = ""] =
    /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent) ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(context.active(), parent) : context.active();
}

function endSpan(span: Span, { method, status, outcome, error, bytesIn, bytesOut }: RequestEnd): void {
  span.setAttributes({
    "http.request.method": method,
    "http.request.body.size": bytesIn,
    "http.response.body.size": bytesOut,
    ...(status === 0 ? {} : { "http.response.status_code": status }),
  });
  const problem = error ?? (outcome === "done" ? (status >= 500 ? String(status) : undefined) : outcome);
  if (problem !== undefined) {
    span.setAttribute("error.type", problem);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

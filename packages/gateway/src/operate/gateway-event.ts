import type { Provider } from "palimpsest/internal/context/provider-formats";

export type RequestOperation = "create" | "count" | "compact" | "pass";

/** Events for log, metrics and traces. None contains a body, a key, a query or a project's path. */
export type GatewayEvent =
  | { readonly kind: "listening"; readonly address: string }
  | RequestStart
  | RequestEnd
  /** Before a user was known. */
  | { readonly kind: "refused"; readonly status: number; readonly error: string; readonly message: string }
  /** A request could not be parsed, or its head took too long. */
  | { readonly kind: "malformed"; readonly code: string }
  | UpstreamOutcomeEvent
  /** The gateway failed, so the client's original request was sent upstream unchanged. */
  | { readonly kind: "failed-open"; readonly user: string; readonly step: string; readonly message: string }
  /** What one reply of the upstream used and cost. */
  | ReplyCost
  | { readonly kind: "config-loaded"; readonly changed: readonly string[]; readonly afterRestart: readonly string[] }
  | { readonly kind: "config-refused"; readonly message: string }
  | { readonly kind: "drain-start"; readonly running: number }
  | { readonly kind: "drain-end"; readonly cut: number }
  | { readonly kind: "bug"; readonly message: string };

export interface RequestStart {
  readonly kind: "request-start";
  /** Counts from 1 in this process. */
  readonly id: number;
  readonly user: string;
  readonly provider: Provider;
  readonly operation: RequestOperation;
  /** The client's own span, if it sent one. */
  readonly traceparent?: string | undefined;
}

export interface RequestEnd {
  readonly kind: "request-end";
  readonly id: number;
  readonly user: string;
  readonly provider: Provider;
  readonly operation: RequestOperation;
  readonly method: string;
  /** 0: the client got no head. */
  readonly status: number;
  /** `broken`: the reply ended early. */
  readonly outcome: "done" | "client-gone" | "broken";
  /** Whose error the status is, if the gateway answered itself. */
  readonly error?: string | undefined;
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface UpstreamOutcomeEvent {
  readonly kind: "upstream";
  readonly provider: Provider;
  /** Absent if there was no reply. */
  readonly status?: number | undefined;
  readonly why?: string | undefined;
  /** Until the reply's head. */
  readonly ms: number;
}

export interface ReplyCost {
  readonly kind: "reply-cost";
  readonly user: string;
  readonly model: string;
  /** Billionths of a dollar. Null if the model's price is not known. */
  readonly nanos: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** `estimated`: the reply broke off before its usage, or its upstream says none. */
  readonly source: "said" | "estimated";
}

export type GatewayListener = (event: GatewayEvent) => void;

import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { GatewayEvent } from "./gateway-event.ts";
import { type ConversationRow, type GatewayState, type Savings, sumSavings } from "./gateway-state.ts";
import { statusRowsMax } from "./limits.ts";
import type { SpendToday } from "./users.ts";

export interface GatewayStatus {
  readonly version: string;
  readonly startedAt: number;
  readonly now: number;
  readonly running: number;
  readonly requests: number;
  /** Requests that failed in the gateway itself. */
  readonly gatewayErrors: number;
  /** Requests that the gateway did not accept: a wrong key, a limit, a body that is too large, a stop. */
  readonly refused: number;
  /** Requests without a reply of the upstream. */
  readonly unanswered: number;
  readonly failedOpen: number;
  readonly upstream: readonly UpstreamHealth[];
  /** Since midnight, UTC, also before the gateway was started. */
  readonly spendToday: readonly UserSpend[];
  /** Like all counts but `spendToday`: since the gateway was started. */
  readonly totals: StatusTotals;
  /** What was saved, in a sentence; or why nothing was. */
  readonly summary: string;
  /** Newest first; the totals count all. */
  readonly conversations: readonly ConversationRow[];
}

interface UserSpend {
  readonly user: string;
  /** For replies whose price is known. Null if there were others alone. */
  readonly usd: number | null;
  /** Replies whose price is not known. */
  readonly unpriced: number;
}

interface StatusTotals extends Savings {
  readonly conversations: number;
  readonly inputTokensSent: number;
  readonly inputTokensUsed: number;
  readonly edits: number;
  readonly windowShareMax: number;
}

export interface UpstreamHealth {
  readonly api: string;
  readonly address: string;
  /** By the last answer: a status below 500 is healthy. `unknown` before the first. */
  readonly health: "healthy" | "failing" | "unknown";
  readonly lastStatus?: number | undefined;
  readonly lastFailure?: string | undefined;
  readonly lastAt?: number | undefined;
}

export interface StatusOptions {
  readonly version: string;
  readonly now: () => number;
  readonly state: GatewayState;
  readonly spend: SpendToday;
  readonly upstream: () => Readonly<Record<string, string | undefined>>;
  readonly users: () => readonly string[];
}

type LastOutcome = Pick<Extract<GatewayEvent, { kind: "upstream" }>, "status" | "why"> & { readonly at: number };

interface Counts {
  running: number;
  requests: number;
  gatewayErrors: number;
  refused: number;
  unanswered: number;
  failedOpen: number;
}

const noCounts = (): Counts => ({
  running: 0,
  requests: 0,
  gatewayErrors: 0,
  refused: 0,
  unanswered: 0,
  failedOpen: 0,
});

function countEvent(counts: Counts, event: GatewayEvent): void {
  switch (event.kind) {
    case "request-start":
      counts.running += 1;
      return;
    case "request-end":
      counts.running -= 1;
      counts.requests += 1;
      if (event.error !== undefined) counts[countByError(event.error)] += 1;
      return;
    case "refused":
      counts[countByError(event.error)] += 1;
      return;
    case "failed-open":
      counts.failedOpen += 1;
      return;
    case "listening":
    case "malformed":
    case "upstream":
    case "reply-cost":
    case "config-loaded":
    case "config-refused":
    case "drain-start":
    case "drain-end":
    case "bug":
      return;
  }
}

const countByError = (error: string): "gatewayErrors" | "refused" | "unanswered" =>
  error === "bug" ? "gatewayErrors" : error.startsWith("upstream-") ? "unanswered" : "refused";

/** Counts events and summarises them for the status page and `gateway status`. */
export class StatusBoard {
  readonly #options: StatusOptions;
  readonly #startedAt: number;
  readonly #lastByApi = new Map<string, LastOutcome>();
  readonly #all = noCounts();
  readonly #countsByUser = new Map<string, Counts>();

  constructor(options: StatusOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  record(event: GatewayEvent): void {
    countEvent(this.#all, event);
    if ("user" in event) {
      const counts = this.#countsByUser.get(event.user) ?? noCounts();
      this.#countsByUser.set(event.user, counts);
      countEvent(counts, event);
    }
    // A client that went away says nothing about the upstream.
    if (event.kind === "upstream" && event.why !== "cancelled")
      this.#lastByApi.set(event.provider === "anthropic" ? "anthropic" : "openai", {
        status: event.status,
        why: event.why,
        at: this.#options.now(),
      });
  }

  /** With a user: only that user's counts and conversations. */
  read({ user }: { readonly user?: string | undefined } = {}): GatewayStatus {
    const { version, now, state, spend, upstream, users } = this.#options;
    const rows = state.conversations({ user });
    const sum = (key: "inputTokensSent" | "inputTokensUsed" | "edits"): number =>
      rows.reduce((total, row) => total + row[key], 0);
    const totals: StatusTotals = {
      conversations: rows.length,
      inputTokensSent: sum("inputTokensSent"),
      inputTokensUsed: sum("inputTokensUsed"),
      ...sumSavings(rows),
      edits: sum("edits"),
      windowShareMax: rows.reduce((largest, row) => Math.max(largest, row.windowShareMax), 0),
    };
    return {
      version,
      startedAt: this.#startedAt,
      now: now(),
      ...(user === undefined ? this.#all : (this.#countsByUser.get(user) ?? noCounts())),
      // Where requests go is the operator's.
      upstream: Object.entries(user === undefined ? upstream() : {}).flatMap(([api, address]) =>
        address === undefined ? [] : [this.#health(api, address)],
      ),
      spendToday: (user === undefined ? users() : [user]).map((name) => readSpend(spend, name)),
      totals,
      summary: describeSavings(totals),
      conversations: rows.slice(0, statusRowsMax),
    };
  }

  #health(api: string, address: string): UpstreamHealth {
    const last = this.#lastByApi.get(api);
    if (last === undefined) return { api, address, health: "unknown" };
    const { status, why, at } = last;
    const isHealthy = status !== undefined && status < 500;
    return {
      api,
      address,
      health: isHealthy ? "healthy" : "failing",
      lastAt: at,
      ...(status === undefined ? {} : { lastStatus: status }),
      ...(why === undefined ? {} : { lastFailure: why }),
    };
  }
}

function readSpend(spend: SpendToday, user: string): UserSpend {
  const [usd, unpriced] = [spend.usdToday(user), spend.unpricedToday(user)];
  return { user, usd: usd === 0 && unpriced > 0 ? null : usd, unpriced };
}

/** Zeros would look like a failure: in a large window nothing has to be done for a long time. */
export function describeSavings(totals: StatusTotals): string {
  const { conversations, inputTokensSent, inputTokensUsed, edits, windowShareMax } = totals;
  if (conversations === 0) return "no conversation yet";
  const which = `${formatCount(conversations)} ${plural(conversations, "conversation")}`;
  const share = `${formatShare(windowShareMax)} of its model's window`;
  if (edits === 0 && windowShareMax > 1)
    return inputTokensUsed < inputTokensSent
      ? `${which}: edits from before the start keep requests within the window; without them, the largest would have taken ${share}`
      : `${which}: nothing was removed, although the largest request took ${share}`;
  if (edits === 0) return `${which}: nothing had to be removed yet, the largest request took ${share}`;
  const less = inputTokensSent === 0 ? 0 : 1 - inputTokensUsed / inputTokensSent;
  const made = `${formatCount(edits)} ${plural(edits, "edit")}`;
  // Replies that were continued after a recall add input tokens that the client never sent, so `less` can be negative.
  return less <= 0
    ? `${which}: ${made}, no input tokens saved yet`
    : `${which}: ${made}, ${formatShare(less)} fewer input tokens, ${formatSavings(totals)}; without edits, the largest request would have taken ${share}`;
}

function formatSavings({ savedUsd, savedUnknown }: Savings): string {
  if (savedUsd === null) return "money saved not known (the model has no known price)";
  const known =
    savedUsd < 0
      ? `so far the edits cost about ${formatDollars(-savedUsd)} more than they saved`
      : `about ${formatDollars(savedUsd)} saved`;
  if (savedUnknown === 0) return known;
  return `${known}, not counting ${formatCount(savedUnknown)} ${plural(savedUnknown, "conversation")} without a known price`;
}

/** `reachable: its rate limit was reached (429)`. Sent to the status page as source text too. */
export const describeHealth = ({ health, lastStatus, lastFailure }: UpstreamHealth): string => {
  if (health === "unknown") return "not used yet";
  if (lastStatus === undefined) {
    if (lastFailure === "timeout") return "failing: it did not answer the last request in time";
    return lastFailure === "reset" ? "failing: it closed the last connection" : "failing: it can't be reached";
  }
  if (health === "failing") return `failing: it answered the last request with an error (${lastStatus})`;
  if (lastStatus < 400) return "reachable";
  const refusal =
    lastStatus === 401 || lastStatus === 403
      ? "it refused the key of the last request, or that had none"
      : lastStatus === 429
        ? "its rate limit was reached"
        : "it refused the last request";
  return `reachable: ${refusal} (${lastStatus})`;
};

/** Both functions are also sent to the status page as source text, so they must not refer to anything outside. */
export const formatShare = (share: number): string =>
  share > 0 && share < 0.01 ? "less than 1 %" : `${Math.floor(100 * share)} %`;

/** Cents, or two significant digits below a cent: `$12.30`, `$0.0031`. */
export const formatDollars = (usd: number | null): string => {
  if (usd === null) return "not known";
  const amount = Math.abs(usd);
  const digits = amount === 0 || amount >= 0.01 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(amount)));
  return `${usd < 0 ? "-" : ""}$${amount.toFixed(digits)}`;
};

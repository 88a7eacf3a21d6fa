import type { GatewayEvent } from "./gateway-event.ts";
import { type GatewayState, sumSavings } from "./gateway-state.ts";

type Labels = Readonly<Record<string, string | number>>;

const namePrefix = "palimpsest_gateway_";

/** Upper bounds of the buckets, in seconds. */
const secondsBuckets = [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 60, 300] as const;

const counters = {
  requests_total: "Requests that were answered, or whose client went away.",
  request_bytes_total: "Bytes of clients' bodies.",
  reply_bytes_total: "Bytes of replies to clients.",
  refused_total: "Requests that the gateway refused before a user was known.",
  malformed_total: "Connections closed because the request was not valid HTTP or its headers came too slowly.",
  upstream_total: "Requests to the upstream, by its status, or by why there was no reply.",
  failed_open_total: "Requests that went upstream unchanged because a part of the gateway failed.",
  input_tokens_total: "Input tokens of replies, as their usage says; estimated for those without one.",
  output_tokens_total: "Output tokens of replies, as their usage says; estimated for those without one.",
  spend_usd_total: "Cost of replies of models whose price is known, in dollars.",
  unpriced_replies_total: "Replies of models whose price is not known: their cost is not in spend_usd_total.",
  bugs_total: "Failures of the gateway itself.",
} as const;
type CounterName = keyof typeof counters;

const histograms = {
  request_seconds: "From a request's head to the end of its reply.",
  upstream_head_seconds: "From a request upstream to the head of its reply.",
} as const;
type HistogramName = keyof typeof histograms;

/** Counts events and renders them in the Prometheus text format. No label contains text that a client can choose freely. */
export class Metrics {
  readonly #counts = new Map<string, number>();
  readonly #running = new Set<number>();

  record(event: GatewayEvent): void {
    switch (event.kind) {
      case "request-start":
        this.#running.add(event.id);
        return;
      case "request-end":
        return this.#recordEnd(event);
      case "refused":
        return this.#count("refused_total", { error: event.error });
      case "malformed":
        return this.#count("malformed_total", {});
      case "upstream": {
        const { provider, status, why } = event;
        this.#count("upstream_total", { provider, ...(status === undefined ? { why: why ?? "unknown" } : { status }) });
        return this.#observe("upstream_head_seconds", { labels: { provider }, seconds: event.ms / 1_000 });
      }
      case "failed-open":
        return this.#count("failed_open_total", { step: event.step });
      case "reply-cost": {
        const { user, inputTokens, outputTokens, nanos } = event;
        this.#count("input_tokens_total", { user }, inputTokens);
        this.#count("output_tokens_total", { user }, outputTokens);
        return nanos === null
          ? this.#count("unpriced_replies_total", { user })
          : this.#count("spend_usd_total", { user }, nanos / 1e9);
      }
      case "bug":
        return this.#count("bugs_total", {});
      case "listening":
      case "config-loaded":
      case "config-refused":
      case "drain-start":
      case "drain-end":
        return undefined;
    }
  }

  get running(): number {
    return this.#running.size;
  }

  render(state: GatewayState): string {
    const rows = state.conversations({});
    const sum = (key: "inputTokensSent" | "inputTokensUsed" | "edits"): number =>
      rows.reduce((total, row) => total + row[key], 0);
    const { savedUsd, savedUnknown } = sumSavings(rows);
    return [
      ...Object.entries(counters).flatMap(([name, help]) => this.#family(name, { help, type: "counter" })),
      ...Object.entries(histograms).flatMap(([name, help]) => this.#family(name, { help, type: "histogram" })),
      ...gauge("running", { help: "Requests that are being answered.", value: this.running }),
      ...gauge("conversations", { help: "Conversations that the status counts.", value: rows.length }),
      ...gauge("conversations_saved_usd", {
        help: "Estimated savings of their edits, in dollars. Negative if edits cost more than they saved. Without models that have no known price.",
        value: savedUsd,
      }),
      ...gauge("conversations_saved_unknown", {
        help: "Conversations whose savings are not known because their model has no known price.",
        value: savedUnknown,
      }),
      ...gauge("conversations_input_tokens_sent", {
        help: "Input tokens that their clients sent, as estimated.",
        value: sum("inputTokensSent"),
      }),
      ...gauge("conversations_input_tokens_used", {
        help: "Input tokens that went upstream.",
        value: sum("inputTokensUsed"),
      }),
      ...gauge("conversations_edits", {
        help: "Edits of their contexts.",
        value: sum("edits"),
      }),
      "",
    ].join("\n");
  }

  #recordEnd({ id, provider, operation, status, outcome, ms, bytesIn, bytesOut }: EndEvent): void {
    this.#running.delete(id);
    this.#count("requests_total", { provider, operation, status, outcome });
    this.#count("request_bytes_total", { provider }, bytesIn);
    this.#count("reply_bytes_total", { provider }, bytesOut);
    this.#observe("request_seconds", { labels: { operation }, seconds: ms / 1_000 });
  }

  #count(name: CounterName, labels: Labels, by = 1): void {
    this.#add(`${name}${renderLabels(labels)}`, by);
  }

  #observe(name: HistogramName, { labels, seconds }: { readonly labels: Labels; readonly seconds: number }): void {
    for (const bound of secondsBuckets)
      this.#add(`${name}_bucket${renderLabels({ ...labels, le: bound })}`, seconds <= bound ? 1 : 0);
    this.#add(`${name}_bucket${renderLabels({ ...labels, le: "+Inf" })}`, 1);
    this.#add(`${name}_sum${renderLabels(labels)}`, seconds);
    this.#add(`${name}_count${renderLabels(labels)}`, 1);
  }

  #add(series: string, by: number): void {
    this.#counts.set(series, (this.#counts.get(series) ?? 0) + by);
  }

  #family(name: string, { help, type }: { readonly help: string; readonly type: string }): readonly string[] {
    const series = [...this.#counts].filter(([key]) => familyName(key) === name);
    return [
      `# HELP ${namePrefix}${name} ${help}`,
      `# TYPE ${namePrefix}${name} ${type}`,
      ...series.map(([key, value]) => `${namePrefix}${key} ${value}`),
    ];
  }
}

type EndEvent = Extract<GatewayEvent, { kind: "request-end" }>;

const familyName = (series: string): string => {
  const [name = ""] = series.split("{", 1);
  return name.replace(/_(?:bucket|sum|count)$/, "");
};

function renderLabels(labels: Labels): string {
  const written = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** A value that is not known has no sample. */
const gauge = (
  name: string,
  { help, value }: { readonly help: string; readonly value: number | null },
): readonly string[] => [
  `# HELP ${namePrefix}${name} ${help}`,
  `# TYPE ${namePrefix}${name} gauge`,
  ...(value === null ? [] : [`${namePrefix}${name} ${value}`]),
];

import { type NanoUsd, nanoUsd, tokens, type Tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Model, ModelOverride, Prices } from "../schema/model.ts";
import { findModel } from "../tokens/registry.ts";
import { requestCostsMax } from "./limits.ts";
import { nanosFor, nanosOf, type NanosByKind, sumOf, type Tariff, tariffOf } from "./price.ts";
import { promptTokensOf, readSpent, type Spent } from "./usage-split.ts";

/** Who asked. */
export const costSources = ["main", "notes", "compact", "extraction", "dream", "agents", "recall"] as const;
export type CostSource = (typeof costSources)[number];

export type TokensByKind = Readonly<Record<keyof Prices, Tokens>>;

/** Sums over requests. Adding up two of them field by field is the figures of both. */
export interface CostFigures {
  readonly requests: number;
  /** Requests to models without a known price: their tokens count, their money is missing. */
  readonly unpriced: number;
  readonly tokensByKind: TokensByKind;
  readonly nanosByKind: NanosByKind;
  readonly totalNanos: NanoUsd;
  /** Tools and system prompt: how many tokens of the prompts they were, and what these cost. */
  readonly headerTokens: Tokens;
  readonly headerNanos: NanoUsd;
  /** What the prompts would have cost beyond that without any caching; below 0 where writing did not pay. */
  readonly savedNanos: NanoUsd;
}

export interface RequestCost extends CostFigures {
  readonly number: number;
  readonly source: CostSource;
  readonly model: string;
}

/** With the share of prompt tokens that came from the cache, 0 to 1. */
export interface CostSummary extends CostFigures {
  readonly hitRate: number;
}

/** As it is exported. */
export interface CostReport {
  readonly session: CostSummary;
  readonly bySource: Readonly<Partial<Record<CostSource, CostSummary>>>;
  readonly byModel: Readonly<Record<string, CostSummary>>;
  /** The newest ones, oldest first. */
  readonly requests: readonly RequestCost[];
}

export interface PaidRequest {
  readonly source: CostSource;
  readonly model: string;
  /** `usage` of the reply, as the provider said it. */
  readonly usage: JsonObject;
  /** Tokens of tools and system prompt. */
  readonly headerTokens: Tokens;
}

/** What a session costs, request by request. Sums are whole billionths of a dollar and so exact up to nine million dollars. */
export class CostLedger {
  readonly #overrides: readonly ModelOverride[];
  readonly #bySource = new Map<CostSource, CostFigures>();
  readonly #byModel = new Map<string, CostFigures>();
  readonly #requests: RequestCost[] = [];
  #session: CostFigures = nothing;

  /** `overrides`: users' own prices. */
  constructor(overrides: readonly ModelOverride[] = []) {
    this.#overrides = overrides;
  }

  get session(): CostSummary {
    return summaryOf(this.#session);
  }

  add(paid: PaidRequest): RequestCost {
    const { source, model } = paid;
    const cost = costOf(paid, findModel(model, this.#overrides));
    this.#session = added(this.#session, cost);
    this.#bySource.set(source, added(this.#bySource.get(source) ?? nothing, cost));
    this.#byModel.set(model, added(this.#byModel.get(model) ?? nothing, cost));
    const request = { number: this.#session.requests, source, model, ...cost };
    this.#requests.push(request);
    if (this.#requests.length > requestCostsMax) this.#requests.shift();
    return request;
  }

  /** What a request would cost, without booking it; 0 for a model without a known price. */
  priceOf({ model, usage }: Pick<PaidRequest, "model" | "usage">): NanoUsd {
    return costOf({ source: "main", model, usage, headerTokens: tokens(0) }, findModel(model, this.#overrides))
      .totalNanos;
  }

  toJSON(): CostReport {
    return {
      session: this.session,
      bySource: Object.fromEntries([...this.#bySource].map(([source, figures]) => [source, summaryOf(figures)])),
      byModel: Object.fromEntries([...this.#byModel].map(([model, figures]) => [model, summaryOf(figures)])),
      requests: [...this.#requests],
    };
  }
}

function costOf({ usage, headerTokens }: PaidRequest, model: Model | undefined): CostFigures {
  const figures = readSpent(usage).map((spent) => runCost(spent, { model, headerTokens }));
  return { ...figures.reduce(added, nothing), requests: 1, unpriced: model === undefined ? 1 : 0 };
}

interface RunContext {
  readonly model: Model | undefined;
  readonly headerTokens: Tokens;
}

function runCost(spent: Spent, { model, headerTokens }: RunContext): CostFigures {
  const { usage, outputTokens } = spent;
  const header = tokens(Math.min(headerTokens, promptTokensOf(usage)));
  const tokensByKind = {
    input: tokens(usage.inputTokens),
    cacheWrite5m: tokens(usage.cacheWrite5mTokens),
    cacheWrite1h: tokens(usage.cacheWrite1hTokens),
    cacheRead: tokens(usage.cacheReadTokens),
    output: tokens(outputTokens),
  };
  if (model === undefined) return { ...nothing, tokensByKind, headerTokens: header };
  const tariff = tariffOf(model, spent);
  const nanosByKind = nanosOf(spent, tariff);
  const totalNanos = sumOf(nanosByKind);
  const plain = nanosFor(promptTokensOf(usage), { kind: "input", tariff }) + nanosByKind.output;
  return {
    ...nothing,
    tokensByKind,
    nanosByKind,
    totalNanos,
    headerTokens: header,
    headerNanos: prefixNanos(header, { spent, tariff }),
    savedNanos: nanoUsd(plain - totalNanos),
  };
}

/** A prompt's first tokens are those that were read, then those written for an hour, for five minutes, then the rest. */
function prefixNanos(prefixTokens: Tokens, { spent: { usage }, tariff }: { spent: Spent; tariff: Tariff }): NanoUsd {
  let left: number = prefixTokens;
  let sum = 0;
  const parts = [
    ["cacheRead", usage.cacheReadTokens],
    ["cacheWrite1h", usage.cacheWrite1hTokens],
    ["cacheWrite5m", usage.cacheWrite5mTokens],
    ["input", usage.inputTokens],
  ] as const;
  for (const [kind, count] of parts) {
    const taken = Math.min(left, count);
    sum += nanosFor(taken, { kind, tariff });
    left -= taken;
  }
  return nanoUsd(sum);
}

const noTokens: TokensByKind = {
  input: tokens(0),
  cacheWrite5m: tokens(0),
  cacheWrite1h: tokens(0),
  cacheRead: tokens(0),
  output: tokens(0),
};
const noNanos: NanosByKind = {
  input: nanoUsd(0),
  cacheWrite5m: nanoUsd(0),
  cacheWrite1h: nanoUsd(0),
  cacheRead: nanoUsd(0),
  output: nanoUsd(0),
};
const nothing: CostFigures = {
  requests: 0,
  unpriced: 0,
  tokensByKind: noTokens,
  nanosByKind: noNanos,
  totalNanos: nanoUsd(0),
  headerTokens: tokens(0),
  headerNanos: nanoUsd(0),
  savedNanos: nanoUsd(0),
};

const added = (one: CostFigures, other: CostFigures): CostFigures => ({
  requests: one.requests + other.requests,
  unpriced: one.unpriced + other.unpriced,
  tokensByKind: byKind((kind) => tokens(one.tokensByKind[kind] + other.tokensByKind[kind])),
  nanosByKind: byKind((kind) => nanoUsd(one.nanosByKind[kind] + other.nanosByKind[kind])),
  totalNanos: nanoUsd(one.totalNanos + other.totalNanos),
  headerTokens: tokens(one.headerTokens + other.headerTokens),
  headerNanos: nanoUsd(one.headerNanos + other.headerNanos),
  savedNanos: nanoUsd(one.savedNanos + other.savedNanos),
});

const byKind = <Of>(of: (kind: keyof Prices) => Of): Record<keyof Prices, Of> => ({
  input: of("input"),
  cacheWrite5m: of("cacheWrite5m"),
  cacheWrite1h: of("cacheWrite1h"),
  cacheRead: of("cacheRead"),
  output: of("output"),
});

function summaryOf(figures: CostFigures): CostSummary {
  const { input, cacheWrite5m, cacheWrite1h, cacheRead } = figures.tokensByKind;
  const prompt = input + cacheWrite5m + cacheWrite1h + cacheRead;
  return { ...figures, hitRate: prompt === 0 ? 0 : cacheRead / prompt };
}

import { type NanoUsd, nanoUsd, tokens, type Tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Model, ModelOverride, Prices } from "../schema/model.ts";
import { findModel, modelName } from "../tokens/known-models.ts";
import { priceTier } from "./cache-rates.ts";
import { requestCostsMax } from "./limits.ts";
import { countPromptTokens, parseSpent, type Spent } from "./usage-split.ts";

/** What a request was for. */
export const costSources = ["main", "notes", "compact", "extraction", "dream", "agents", "recall"] as const;
export type CostSource = (typeof costSources)[number];

type TokensByKind = Readonly<Record<keyof Prices, Tokens>>;

/** Sums over requests. They add up field by field. */
interface CostFigures {
  readonly requests: number;
  /** Requests to models without a known price. Their tokens count; their cost is missing. */
  readonly unpriced: number;
  readonly tokensByKind: TokensByKind;
  readonly nanosByKind: NanosByKind;
  readonly totalNanos: NanoUsd;
  /** Tokens of the tools and the system prompt, summed over all prompts, and their cost. */
  readonly headerTokens: Tokens;
  readonly headerNanos: NanoUsd;
  /** How much more the prompts would have cost without caching. Negative if the cache writes cost more than they saved. */
  readonly savedNanos: NanoUsd;
}

interface RequestCost extends CostFigures {
  readonly number: number;
  readonly source: CostSource;
  readonly model: string;
}

/** Adds the share of prompt tokens that came from the cache, from 0 to 1. */
export interface CostSummary extends CostFigures {
  readonly hitRate: number;
}

export interface CostReport {
  readonly session: CostSummary;
  readonly bySource: Readonly<Partial<Record<CostSource, CostSummary>>>;
  readonly byModel: Readonly<Record<string, CostSummary>>;
  /** By the names of the agents that the session has started. */
  readonly byAgent: Readonly<Record<string, CostSummary>>;
  /** Only the newest requests, oldest first. */
  readonly requests: readonly RequestCost[];
}

export interface PaidRequest {
  readonly source: CostSource;
  readonly model: string;
  /** `usage` of the reply as the provider sent it. */
  readonly usage: JsonObject;
  /** Tokens of tools and system prompt. */
  readonly headerTokens: Tokens;
  /** The agent that paid, if it was not the session's own conversation. */
  readonly agent?: string | undefined;
}

type PaidListener = (cost: Pick<RequestCost, "source" | "totalNanos">, paid: PaidRequest) => void;

/**
 * What a session costs, request by request. Sums are whole billionths of a dollar, and so exact up to nine million
 * dollars.
 */
export class CostLedger {
  readonly #overrides: readonly ModelOverride[];
  readonly #bySource = new Map<CostSource, CostFigures>();
  readonly #byModel = new Map<string, CostFigures>();
  readonly #byAgent = new Map<string, CostFigures>();
  readonly #requests: RequestCost[] = [];
  readonly #listeners: PaidListener[] = [];
  #session: CostFigures = zeroFigures;

  /** `overrides` holds the users' own prices. */
  constructor(overrides: readonly ModelOverride[] = []) {
    this.#overrides = overrides;
  }

  get session(): CostSummary {
    return summarizeFigures(this.#session);
  }

  add(paid: PaidRequest): RequestCost {
    const { source, model, agent } = paid;
    const cost = computeCost(paid, findModel(model, this.#overrides));
    this.#session = addFigures(this.#session, cost);
    this.#bySource.set(source, addFigures(this.#bySource.get(source) ?? zeroFigures, cost));
    this.#byModel.set(model, addFigures(this.#byModel.get(model) ?? zeroFigures, cost));
    if (agent !== undefined) this.#byAgent.set(agent, addFigures(this.#byAgent.get(agent) ?? zeroFigures, cost));
    const request = { number: this.#session.requests, source, model, ...cost };
    this.#requests.push(request);
    if (this.#requests.length > requestCostsMax) this.#requests.shift();
    for (const listener of this.#listeners) listener(request, paid);
    return request;
  }

  /** The listener gets every request that is added from now on. */
  onPaid(listener: PaidListener): void {
    this.#listeners.push(listener);
  }

  /** What a request would cost, without adding it; 0 for a model without a known price. */
  priceOf({ model, usage }: Pick<PaidRequest, "model" | "usage">): NanoUsd {
    return computeCost({ source: "main", model, usage, headerTokens: tokens(0) }, findModel(model, this.#overrides))
      .totalNanos;
  }

  toJSON(): CostReport {
    return {
      session: this.session,
      bySource: Object.fromEntries([...this.#bySource].map(([source, figures]) => [source, summarizeFigures(figures)])),
      byModel: summarizeEach(this.#byModel),
      byAgent: summarizeEach(this.#byAgent),
      requests: [...this.#requests],
    };
  }
}

const summarizeEach = (figuresByName: ReadonlyMap<string, CostFigures>): Readonly<Record<string, CostSummary>> =>
  Object.fromEntries([...figuresByName].map(([name, figures]) => [name, summarizeFigures(figures)]));

function computeCost({ usage, headerTokens }: PaidRequest, model: Model | undefined): CostFigures {
  const figures = parseSpent(usage).map((spent) => runCost(spent, { model, headerTokens }));
  return { ...figures.reduce(addFigures, zeroFigures), requests: 1, unpriced: model === undefined ? 1 : 0 };
}

function runCost(
  spent: Spent,
  { model, headerTokens }: { readonly model: Model | undefined; readonly headerTokens: Tokens },
): CostFigures {
  const { usage, outputTokens } = spent;
  const header = tokens(Math.min(headerTokens, countPromptTokens(usage)));
  const tokensByKind = {
    input: tokens(usage.inputTokens),
    cacheWrite5m: tokens(usage.cacheWrite5mTokens),
    cacheWrite1h: tokens(usage.cacheWrite1hTokens),
    cacheRead: tokens(usage.cacheReadTokens),
    output: tokens(outputTokens),
  };
  if (model === undefined) return { ...zeroFigures, tokensByKind, headerTokens: header };
  const tariff = resolveTariff(model, spent);
  const nanosByKind = computeNanos(spent, tariff);
  const totalNanos = sumNanos(nanosByKind);
  const uncachedNanos = nanosFor(countPromptTokens(usage), { kind: "input", tariff }) + nanosByKind.output;
  return {
    ...zeroFigures,
    tokensByKind,
    nanosByKind,
    totalNanos,
    headerTokens: header,
    headerNanos: prefixNanos(header, { spent, tariff }),
    savedNanos: nanoUsd(uncachedNanos - totalNanos),
  };
}

/**
 * A prompt starts with the tokens that were read, then those written for an hour, then for five minutes, then the rest.
 */
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
const zeroFigures: CostFigures = {
  requests: 0,
  unpriced: 0,
  tokensByKind: noTokens,
  nanosByKind: noNanos,
  totalNanos: nanoUsd(0),
  headerTokens: tokens(0),
  headerNanos: nanoUsd(0),
  savedNanos: nanoUsd(0),
};

const addFigures = (left: CostFigures, right: CostFigures): CostFigures => ({
  requests: left.requests + right.requests,
  unpriced: left.unpriced + right.unpriced,
  tokensByKind: byKind((kind) => tokens(left.tokensByKind[kind] + right.tokensByKind[kind])),
  nanosByKind: byKind((kind) => nanoUsd(left.nanosByKind[kind] + right.nanosByKind[kind])),
  totalNanos: nanoUsd(left.totalNanos + right.totalNanos),
  headerTokens: tokens(left.headerTokens + right.headerTokens),
  headerNanos: nanoUsd(left.headerNanos + right.headerNanos),
  savedNanos: nanoUsd(left.savedNanos + right.savedNanos),
});

const byKind = <Value>(valueFor: (kind: keyof Prices) => Value): Record<keyof Prices, Value> => ({
  input: valueFor("input"),
  cacheWrite5m: valueFor("cacheWrite5m"),
  cacheWrite1h: valueFor("cacheWrite1h"),
  cacheRead: valueFor("cacheRead"),
  output: valueFor("output"),
});

function summarizeFigures(figures: CostFigures): CostSummary {
  const { input, cacheWrite5m, cacheWrite1h, cacheRead } = figures.tokensByKind;
  const prompt = input + cacheWrite5m + cacheWrite1h + cacheRead;
  return { ...figures, hitRate: prompt === 0 ? 0 : cacheRead / prompt };
}

type NanosByKind = Readonly<Record<keyof Prices, NanoUsd>>;

/** Dollars per million tokens as one reply is charged. */
export interface Tariff {
  readonly prices: Prices;
  /** Multiplies all prices, for where and how fast the model runs. */
  readonly factor: number;
}

export function resolveTariff(model: Model, { usage, inferenceGeo, speed }: Spent): Tariff {
  return {
    prices: priceTier(model, countPromptTokens(usage)),
    factor: geoFactor(model, inferenceGeo) * speedFactor(model, speed),
  };
}

/**
 * In whole billionths of a dollar: prices per million and factors such as 1.1 are no binary fractions, but sums have to
 * be exact.
 */
export function computeNanos({ usage, outputTokens }: Spent, tariff: Tariff): NanosByKind {
  return {
    input: nanosFor(usage.inputTokens, { kind: "input", tariff }),
    cacheWrite5m: nanosFor(usage.cacheWrite5mTokens, { kind: "cacheWrite5m", tariff }),
    cacheWrite1h: nanosFor(usage.cacheWrite1hTokens, { kind: "cacheWrite1h", tariff }),
    cacheRead: nanosFor(usage.cacheReadTokens, { kind: "cacheRead", tariff }),
    output: nanosFor(outputTokens, { kind: "output", tariff }),
  };
}

export const sumNanos = ({ input, cacheWrite5m, cacheWrite1h, cacheRead, output }: NanosByKind): NanoUsd =>
  nanoUsd(input + cacheWrite5m + cacheWrite1h + cacheRead + output);

export const toUsd = (nanos: NanoUsd): number => nanos / 1e9;

export const nanosFor = (
  count: number,
  { kind, tariff }: { readonly kind: keyof Prices; readonly tariff: Tariff },
): NanoUsd => nanoUsd(Math.round(count * tariff.prices[kind] * tariff.factor * 1000));

/** Inference restricted to the US costs a tenth more from version 4.6 on. */
const geoFactor = ({ id }: Model, geo: string | null | undefined): number =>
  geo === "us" && modelName(id).version >= 4.06 ? 1.1 : 1;

/**
 * As published: 10/50 instead of 5/25 (Opus 5 and 4.8), 8/40 instead of 4/20 (Opus 5.5). Cache prices follow the input
 * price.
 */
function speedFactor({ id }: Model, speed: Spent["speed"]): number {
  const { line, version } = modelName(id);
  return speed === "fast" && line === "opus" && version >= 4.08 ? 2 : 1;
}

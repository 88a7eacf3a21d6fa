import { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import { countPromptTokens, parseSpent } from "palimpsest/internal/cache/usage-split";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { readOpenaiUsage } from "palimpsest/internal/model/openai/chat-assembly";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { openaiKeys, readCount, withoutNulls } from "./usage.ts";

/** What one reply of upstream used, and what that costs. */
export interface ReplyCharge {
  readonly model: string;
  /** In the fields of the Messages API. */
  readonly usage: JsonObject;
  /** `estimated`: the reply ended before upstream had said all of it, or upstream does not say it at all. */
  readonly source: "said" | "estimated";
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Billionths of a dollar. Null if the model's price is not known. */
  readonly nanos: number | null;
}

export interface EstimateInput {
  /** As the request named it. A reply may name the same one otherwise, or, behind a proxy, another one. */
  readonly model: string | undefined;
  /** Of the request, for a reply that does not say. */
  readonly inputTokens: number;
  /** The operator's own, before the known ones. */
  readonly prices: readonly ModelOverride[];
}

/** Reads the usage from the events of a stream, or from a whole reply, before anything is changed for the client. */
export class ReplyUsage {
  readonly #provider: Provider;
  #usage: JsonObject | undefined;
  #isComplete = false;
  #model: string | undefined;
  #chars = 0;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  take(event: JsonObject): void {
    const inner = field(event, "message") ?? field(event, "response");
    const holder = isObject(inner) ? inner : event;
    this.#model ??= textField(holder, "model");
    const usage = field(holder, "usage");
    if (isObject(usage)) {
      this.#usage = { ...this.#usage, ...withoutNulls(usage) };
      this.#isComplete = textField(event, "type") !== "message_start";
    } else if (!this.#isComplete) this.#chars += countChars(field(event, "delta")) + countChoices(event);
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  charge({ model: askedModel, inputTokens, prices }: EstimateInput): ReplyCharge {
    const said = this.#usage;
    const provider = this.#provider;
    const usage =
      said === undefined || provider === "anthropic" ? (said ?? {}) : readOpenaiUsage(said, openaiKeys[provider]);
    const estimate = {
      ...(said === undefined ? { input_tokens: inputTokens } : {}),
      output_tokens: Math.max(Math.ceil(this.#chars / charsPerToken), readCount(usage, "output_tokens") ?? 0),
    };
    const charged = this.#isComplete ? usage : { ...usage, ...estimate };
    const spent = parseSpent(charged);
    const sum = (count: (one: (typeof spent)[number]) => number): number =>
      spent.reduce((total, one) => total + count(one), 0);
    const model = choosePriced([askedModel, this.#model], prices);
    return {
      model,
      usage: charged,
      source: this.#isComplete ? "said" : "estimated",
      inputTokens: sum((one) => countPromptTokens(one.usage)),
      outputTokens: sum((one) => one.outputTokens),
      nanos: findModel(model, prices) === undefined ? null : new CostLedger(prices).priceOf({ model, usage: charged }),
    };
  }
}

/** A rough average of English and code. */
const charsPerToken = 4;

/** For a request whose tokens nobody has counted. */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / charsPerToken);

const choosePriced = (names: readonly (string | undefined)[], prices: readonly ModelOverride[]): string => {
  const known = names.filter((name) => name !== undefined && name !== "");
  return known.find((name) => name !== undefined && findModel(name, prices) !== undefined) ?? known[0] ?? "";
};

const countChoices = (event: JsonObject): number => {
  const choices = field(event, "choices");
  return (isArray(choices) ? choices : []).reduce<number>(
    (sum, choice) => sum + (isObject(choice) ? countChars(field(choice, "delta")) : 0),
    0,
  );
};

/** The text that a piece of a reply holds, without the names of its kinds. */
function countChars(value: Json | undefined): number {
  if (typeof value === "string") return value.length;
  if (isArray(value)) return value.reduce<number>((sum, one) => sum + countChars(one), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce((sum, [key, one]) => sum + (unsaid.has(key) ? 0 : countChars(one)), 0);
}

const unsaid: ReadonlySet<string> = new Set(["type", "role", "id", "stop_reason", "signature"]);

import type { Model, ModelOverride } from "palimpsest/internal/schema/model";
import { findModel, knownModels } from "palimpsest/internal/tokens/known-models";

/** What the OpenAI API needs to know of a model. */
export interface OpenAiModel {
  readonly id: string;
  readonly windowTokens: number;
  /** The longest prompt; shorter than the window if a part of it is reserved for the reply. */
  readonly inputTokensMax: number;
  readonly outputTokensMax: number;
  /** `automatic`: hits in steps, writes are free. `breakpoints`: exact ends, writes are billed; since GPT-5.6. */
  readonly caching: "automatic" | "breakpoints";
  readonly retentions: readonly ("in_memory" | "24h")[];
  readonly reasoning: "thinks" | "answers";
  /** Which turns' reasoning the model is shown by default. */
  readonly reasoningContext: "current_turn" | "all_turns";
  /** Absent if its prices are unknown; then no cost is reported. */
  readonly priced?: Model;
}

/** A window of this size is 272,000 tokens for the request and 128,000 for the reply. */
const gpt5 = { windowTokens: 400_000, inputTokensMax: 272_000, outputTokensMax: 128_000 } as const;

/** For the chat models, which do not reason. */
const gptChat = { windowTokens: 128_000, outputTokensMax: 16_384 } as const;

/**
 * Named by the official client, without a window or prices in the registry. They are assumed to have the window of
 * GPT-5, as the registry assumes for what is not published, and the chat models that of GPT-5.1's chat model.
 */
const unpricedIds: readonly string[] = [
  "gpt-5-codex",
  "gpt-5.1-codex",
  "gpt-5.1-codex-max",
  "gpt-5.2",
  "gpt-5.2-pro",
  "gpt-5.2-chat",
  "gpt-5.3-chat",
  "gpt-5.4",
  "gpt-5.4-mini",
  "gpt-5.4-nano",
  "gpt-5.5",
  "gpt-5.5-pro",
  "gpt-5.6-sol",
  "gpt-5.6-terra",
  "gpt-5.6-luna",
  "gpt-5.6-cyber",
  "gpt-6-astra",
  "gpt-6-sol",
  "gpt-6-luna",
  "gpt-6-cyber",
  "gpt-6-rosalind",
  "gpt-6.1-sol",
  "gpt-6.1-terra",
];

/** The models of this API: OpenAI's, and those that were added and are not the other provider's. */
export class OpenAiModels {
  readonly #overrides: readonly ModelOverride[];

  constructor(overrides: readonly ModelOverride[]) {
    this.#overrides = overrides;
  }

  /** Finds a model by its id, optionally with a date or `-latest` behind it. */
  find(name: string): OpenAiModel | undefined {
    const id = longestId(name, this.#ids());
    if (id === undefined || !nameEnd.test(name.slice(id.length))) return undefined;
    const added = this.#overrides.find((override) => override.id === id);
    const known = findModel(id, this.#overrides);
    // If a model was added without prices, its prices are unknown, whatever the registry fills in.
    const isPriced = knownModels.some((model) => model.id === id) || added?.prices !== undefined;
    return buildModel(id, { known, isPriced });
  }

  all(): readonly OpenAiModel[] {
    return this.#ids().flatMap((id) => this.find(id) ?? []);
  }

  #ids(): readonly string[] {
    const registered = knownModels.map(({ id }) => id).filter((id) => id.startsWith("gpt-"));
    const added = this.#overrides.map(({ id }) => id).filter((id) => !id.startsWith("claude-"));
    return [...new Set([...registered, ...unpricedIds, ...added])];
  }
}

const nameEnd = /^(?:-\d{4}-\d{2}-\d{2}|-latest)?$/;

const longestId = (name: string, ids: readonly string[]): string | undefined =>
  ids.filter((id) => name.startsWith(id)).toSorted((one, other) => other.length - one.length)[0];

function buildModel(
  id: string,
  { known, isPriced }: { readonly known: Model | undefined; readonly isPriced: boolean },
): OpenAiModel {
  const version = gptVersion(id);
  const isChat = /-chat\b/.test(id);
  const sizes = known ?? (isChat ? gptChat : gpt5);
  const isSplit = sizes.windowTokens === gpt5.windowTokens;
  const caching = version >= 5.06 ? "breakpoints" : "automatic";
  return {
    id,
    windowTokens: sizes.windowTokens,
    inputTokensMax: isSplit ? gpt5.inputTokensMax : sizes.windowTokens,
    outputTokensMax: sizes.outputTokensMax,
    caching,
    retentions: version >= 5.05 ? ["24h"] : ["in_memory", "24h"],
    reasoning: version >= 5 && !isChat ? "thinks" : "answers",
    reasoningContext: caching === "breakpoints" ? "all_turns" : "current_turn",
    ...(known === undefined || !isPriced ? {} : { priced: withWritePrices(known, caching) }),
  };
}

/** Since GPT-5.6 a write costs a quarter more than input, whatever its lifetime. */
function withWritePrices(model: Model, caching: OpenAiModel["caching"]): Model {
  const write = model.prices.input * (caching === "breakpoints" ? 1.25 : 1);
  return { ...model, prices: { ...model.prices, cacheWrite5m: write, cacheWrite1h: write } };
}

/** `gpt-5.6-sol` → 5.06; 0 for names without a version. */
function gptVersion(id: string): number {
  const [, major, minor] = /^gpt-(\d+)(?:\.(\d+))?(?![a-z\d])/.exec(id) ?? [];
  return major === undefined ? 0 : Number(major) + Number(minor ?? 0) / 100;
}

import { defaultRates, type Rates, scaleRates, uncalibratedPadding } from "./estimate-block.ts";

interface ModelName {
  readonly line: string;
  readonly version: number;
}

/** `claude-opus-4-8-20260101` is line opus, version 4.08. Of a name without a version the newest rules count. */
export function modelName(id: string): ModelName {
  const found = /(haiku|sonnet|opus|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(id);
  if (found !== null) return { line: found[1] ?? "", version: Number(found[2]) + Number(found[3] ?? 0) / 100 };
  const old = /claude-(\d)-(\d)-(haiku|sonnet|opus)/.exec(id);
  return old === null
    ? { line: "", version: 99 }
    : { line: old[3] ?? "", version: Number(old[1]) + Number(old[2]) / 100 };
}

/**
 * What the same text takes for one model, by what it takes for another. 1 where they count alike, or where nobody knows
 * how one of them counts.
 */
export function tokenizerRatio(from: string | undefined, to: string | undefined): number {
  if (from === to) return 1;
  const [before, after] = [from, to].map((model) => (model === undefined ? undefined : tokenizerWeight(model)));
  return before === undefined || after === undefined ? 1 : after / before;
}

const olderClaude = 1.15;

/** Tokens for the same text, against o200k. Since 4.7 Claude takes 30 % more than before. */
function tokenizerWeight(model: string): number | undefined {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? olderClaude : olderClaude * 1.3;
  return /(?:^|\/)(?:gpt-\d|o\d)/i.test(model) ? 1 : undefined;
}

/**
 * Rates for texts of our own, prompts and definitions of tools, before a model has counted anything: the default ones,
 * padded by what its tokenizer is known to take more. The default rates are 8 % over what o200k counts of such texts.
 */
export function firstRates(model: string | undefined): Rates {
  return scaleRates(defaultRates, model === undefined ? uncalibratedPadding : tokenizerPadding(model));
}

/** Since 4.7 Claude takes 30 % more tokens for the same text than before. Of a tokenizer that nobody knows, the dear side. */
function tokenizerPadding(model: string): number {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? 1.15 : uncalibratedPadding;
  return /(?:^|\/)(?:gpt-\d|o\d)/i.test(model) ? 1 : uncalibratedPadding;
}

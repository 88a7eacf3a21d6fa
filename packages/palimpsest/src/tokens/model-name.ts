import { defaultRates, type Rates, scaleRates, uncalibratedPadding } from "./estimate-block.ts";

interface ModelName {
  readonly line: string;
  readonly version: number;
}

/** `claude-opus-4-8-20260101` is line opus, version 4.08. A name without a version counts as the newest. */
export function modelName(id: string): ModelName {
  const found = /(haiku|sonnet|opus|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(id);
  if (found !== null) return { line: found[1] ?? "", version: Number(found[2]) + Number(found[3] ?? 0) / 100 };
  const old = /claude-(\d)-(\d)-(haiku|sonnet|opus)/.exec(id);
  return old === null
    ? { line: "", version: 99 }
    : { line: old[3] ?? "", version: Number(old[1]) + Number(old[2]) / 100 };
}

/**
 * The factor from one model's tokens to another's for the same text. 1 if they count alike, or if one tokenizer is
 * unknown.
 */
export function tokenizerRatio(from: string | undefined, to: string | undefined): number {
  if (from === to) return 1;
  const [before, after] = [from, to].map((model) => (model === undefined ? undefined : tokenizerWeight(model)));
  return before === undefined || after === undefined ? 1 : after / before;
}

const olderClaude = 1.15;

/** Tokens for the same text, relative to o200k. Since 4.7 Claude takes 30 % more than before. */
function tokenizerWeight(model: string): number | undefined {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? olderClaude : olderClaude * 1.3;
  return isOpenAiModel(model) ? 1 : undefined;
}

/**
 * Rates for our own texts, prompts and tool definitions, before a model has counted anything: the default rates, padded
 * by what its tokenizer is known to take in addition. The default rates are 8 % above what o200k counts for such texts.
 */
export function firstRates(model: string | undefined): Rates {
  return scaleRates(defaultRates, model === undefined ? uncalibratedPadding : tokenizerPadding(model));
}

/** Since 4.7 Claude takes 30 % more tokens for the same text than before. An unknown tokenizer is assumed to be expensive. */
function tokenizerPadding(model: string): number {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? olderClaude : uncalibratedPadding;
  return isOpenAiModel(model) ? 1 : uncalibratedPadding;
}

const isOpenAiModel = (model: string): boolean => /(?:^|\/)(?:gpt-\d|o\d)/i.test(model);

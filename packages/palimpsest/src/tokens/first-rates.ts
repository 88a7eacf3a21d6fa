import { defaultRates, type Rates, scaleRates, uncalibratedPadding } from "./estimate.ts";
import { modelName } from "./model-name.ts";

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

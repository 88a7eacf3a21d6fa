import { modelName } from "./model-name.ts";

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

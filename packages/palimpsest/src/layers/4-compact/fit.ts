import type { Tokens } from "../../schema/brand.ts";
import { clipped } from "../1-offload/cut.ts";
import { charsPerTokenMax, fitGuessesMax } from "./limits.ts";

/** Tokens of a text, by whatever counts them. It need not be additive, but should not shrink when a text grows. */
export type CountText = (text: string) => Tokens;

export interface FitOptions {
  readonly tokensMax: number;
  readonly count: CountText;
}

/** The beginning that fits, as long as a few looks can make it; never half a character. */
export const beginningOf = (text: string, options: FitOptions): string =>
  fitting(options, (chars) => clipped(text, chars));

/** The end that fits, likewise. */
export const endingOf = (text: string, options: FitOptions): string =>
  fitting(options, (chars) => wholeFrom(text, Math.max(0, text.length - chars)));

/** Looks at no more of a text than could fit. What is returned fits, whatever the counter. */
function fitting({ tokensMax, count }: FitOptions, part: (chars: number) => string): string {
  let taken = part(Math.max(0, Math.floor(tokensMax) * charsPerTokenMax));
  for (let look = 0; taken !== ""; look += 1) {
    const size = count(taken);
    if (size <= tokensMax) return taken;
    const share = look < fitGuessesMax ? Math.min(tokensMax / size, 1) * 0.97 : 1 / 2;
    taken = part(Math.min(taken.length - 1, Math.floor(taken.length * share)));
  }
  return "";
}

const wholeFrom = (text: string, at: number): string =>
  text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);

/** Lines in order as long as they fit, each counted with its line end. */
export function fittingLines(lines: Iterable<string>, { tokensMax, count }: FitOptions): readonly string[] {
  const taken: string[] = [];
  let used = 0;
  for (const line of lines) {
    const cost = count(`${line}\n`);
    if (used + cost > tokensMax) break;
    used += cost;
    taken.push(line);
  }
  return taken;
}

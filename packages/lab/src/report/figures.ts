import type { Interval, Spread } from "../statistics.ts";

/** Money for people: millions of tokens at the base input price. */
export const millions = (cost: number): string => `${(cost / 1e6).toFixed(cost < 99.5e6 ? 2 : 0)}M`;

/** `22.6 %`; what rounds to nothing has no sign. */
export const percent = (share: number): string => `${tenths(share)} %`;

/** `19.7 to 25.1`: both ends in per cent. */
export const range = ({ low, high }: Interval): string => `${tenths(low)} to ${tenths(high)}`;

export const ratios = (spread: Spread | undefined): readonly [string, string, string, string] =>
  spread === undefined
    ? [nothing, nothing, nothing, nothing]
    : [ratio(spread.mean), ratio(spread.median), ratio(spread.p90), ratio(spread.max)];

/** Where there is no figure. */
export const nothing = "–";

const ratio = (value: number): string => value.toFixed(2);

function tenths(share: number): string {
  const shown = (share * 100).toFixed(1);
  return shown === "-0.0" ? "0.0" : shown;
}

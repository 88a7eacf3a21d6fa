import { formatCount, plural } from "./format-count.ts";

/** When an edit has paid for itself. `rounds` is undefined if it never does. */
export function formatBreakEven(rounds: number | undefined): string {
  if (rounds === undefined) return "never pays";
  const whole = Math.ceil(rounds);
  return whole <= 0 ? "pays at once" : `pays after ${formatCount(whole)} ${plural(whole, "round")}`;
}

/** `12,345`. */
export const formatCount = (count: number): string => count.toLocaleString("en-US");

const units = ["B", "KB", "MB", "GB"] as const;

/** `1.4 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? "GB"}`;
}

/** The noun that goes with a count: `1 line`, `2 lines`, `0 matches`. */
export function plural(count: number, noun: string): string {
  if (count === 1) return noun;
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}${/(?:ch|x)$/.test(noun) ? "es" : "s"}`;
}

/** When an edit has paid for itself. `rounds` is undefined if it never does. */
export function formatBreakEven(rounds: number | undefined): string {
  if (rounds === undefined) return "never pays";
  const whole = Math.ceil(rounds);
  return whole <= 0 ? "pays at once" : `pays after ${formatCount(whole)} ${plural(whole, "round")}`;
}

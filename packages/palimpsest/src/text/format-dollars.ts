/** `$1.20`, `$0.02`, `$0.004`: rounded, for running text. Smaller amounts are `less than $0.001`. */
export function formatDollars(usd: number): string {
  if (usd >= 0.01) return `$${usd.toFixed(2)}`;
  return usd >= 0.001 ? `$${usd.toFixed(3)}` : "less than $0.001";
}

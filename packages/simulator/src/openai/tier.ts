/** The tier that serves what was asked for. `fast` is told as what it is. */
export function servedTier(asked: string | undefined): string {
  if (asked === undefined || asked === "auto") return "default";
  return asked === "fast" ? "priority" : asked;
}

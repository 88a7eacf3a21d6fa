import { codeOf, refusalText } from "palimpsest/internal/store/files/failure";

/** What the machine refused, in words for a person; undefined for a bug. Node's own `ERR_…` speak of the program, not of the machine. */
export function refusalOf(error: unknown): string | undefined {
  const code = codeOf(error);
  if (!(error instanceof Error) || code === undefined || code.startsWith("ERR_")) return undefined;
  const advice = refusalText(code);
  return advice === undefined ? error.message : `${error.message} (${advice})`;
}

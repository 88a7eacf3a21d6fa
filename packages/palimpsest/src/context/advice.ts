export const overLimitText = ({ tokens, limit }: { readonly tokens: number; readonly limit: number }): string =>
  `The request needs ${tokens} tokens; at most ${limit} fit. The system prompt, the tools or a single message is too large ` +
  "to summarize: shorten it, or raise contextTokens.";

export function adviceFor(failure: { readonly message: string }, tried: number): string {
  return tried === 0 ? failure.message : `${failure.message} A simplified request was refused as well.`;
}

export const openCallsText = "Calls wait for their results: give them first, then compact.";

/**
 * An error of the caller's own code, which no other request would mend. A client that can't reach its server throws a
 * `TypeError` too, and says why by its `cause`.
 */
export function isOwnMistake(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return true;
  if (!(error instanceof Error) || error.cause !== undefined || "code" in error) return false;
  const isBuiltin = [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error.constructor === kind);
  return isBuiltin && !/fetch|network|terminated|socket/i.test(error.message);
}

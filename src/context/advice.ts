export const overLimitText = ({ tokens, limit }: { readonly tokens: number; readonly limit: number }): string =>
  `The request needs ${tokens} tokens; at most ${limit} fit. The system prompt, the tools or a single message is too large ` +
  "to summarize: shorten it, or raise contextTokens.";

export function adviceFor(failure: { readonly message: string }, tried: number): string {
  return tried === 0 ? failure.message : `${failure.message} A simplified request was refused as well.`;
}

export const openCallsText = "Calls wait for their results: give them first, then compact.";

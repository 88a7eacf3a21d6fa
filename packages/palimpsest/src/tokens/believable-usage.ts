import type { Block } from "../schema/block.ts";
import type { Tokens } from "../schema/brand.ts";
import {
  believedAllowanceTokens,
  believedDocumentTokensMax,
  believedFragmentTokensMax,
  believedHiddenTokensMax,
  believedRatioMax,
  believedRatioMin,
} from "./limits.ts";

export interface UsageClaim {
  /** What the provider says that a request had. */
  readonly counted: Tokens;
  /** The same by our estimate, without padding. */
  readonly estimate: Tokens;
  /** What the estimate is of: all that the request held, the conversation alone, or what another tool logged of it. */
  readonly covers: "all" | "conversation" | "log";
  /** Each is estimated at a flat size, and may be a book. */
  readonly documents: number;
}

/** Whether a count can be that of its request. One that can't would block a session for ever, or let it overflow. */
export function believableUsage({ counted, estimate, covers, documents }: UsageClaim): boolean {
  const most = estimate * believedRatioMax + besides[covers] + documents * believedDocumentTokensMax;
  return counted <= most && counted >= estimate * believedRatioMin - believedAllowanceTokens;
}

/** The same of a fixed part that was counted by itself: all of it is known text, so nothing is allowed besides. */
export const believableFixedPart = ({ counted, estimate }: Pick<UsageClaim, "counted" | "estimate">): boolean =>
  counted <= estimate * believedRatioMax && counted >= estimate * believedRatioMin;

const besides: Readonly<Record<UsageClaim["covers"], number>> = {
  all: believedAllowanceTokens,
  conversation: believedHiddenTokensMax,
  log: believedFragmentTokensMax,
};

/** In a block: itself, or in a result. */
export function documentsIn(block: Block): number {
  if (block.type === "document") return 1;
  if (block.type !== "tool_result" || block.content === undefined || typeof block.content === "string") return 0;
  return block.content.filter((part) => part["type"] === "document").length;
}

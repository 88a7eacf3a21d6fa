import type { Tokens } from "../schema/brand.ts";
import { believedAllowanceTokens, believedHiddenTokensMax, believedRatioMax, believedRatioMin } from "./limits.ts";

export interface UsageClaim {
  /** What the provider says that a request had. */
  readonly counted: Tokens;
  /** The same by our estimate, without padding. */
  readonly estimate: Tokens;
  /** `unknown`: the estimate is of the conversation alone. */
  readonly fixedPart: "known" | "unknown";
}

/** Whether a count can be that of its request. One that can't would block a session for ever, or let it overflow. */
export function believableUsage({ counted, estimate, fixedPart }: UsageClaim): boolean {
  const hidden = fixedPart === "known" ? believedAllowanceTokens : believedHiddenTokensMax;
  return (
    counted <= estimate * believedRatioMax + hidden && counted >= estimate * believedRatioMin - believedAllowanceTokens
  );
}

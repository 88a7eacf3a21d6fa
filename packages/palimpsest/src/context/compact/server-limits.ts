import { forkLimits } from "../../layers/4-compact/call-limits.ts";

/** It reads what a fork would read and writes as much, and behind it there is the fork: no more tries, no more time. */
export const serverCallLimits = forkLimits;

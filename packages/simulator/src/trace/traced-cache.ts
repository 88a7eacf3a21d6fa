import type { BreakpointOutcome, CachePlan } from "palimpsest/internal/cache/prompt-cache";
import type { TracedBreakpoint, TracedCache } from "./record.ts";

export const tracedCache = ({ hit, breakpoints }: CachePlan): TracedCache => ({
  hit: hit?.position ?? null,
  breakpoints: breakpoints.map((outcome) => tracedBreakpoint(outcome, hit?.position ?? -1)),
});

/** `highest`: position up to which the prompt was read; nothing is written at it or before it. */
function tracedBreakpoint(outcome: BreakpointOutcome, highest: number): TracedBreakpoint {
  const { position: at } = outcome;
  const behind = at > highest ? "written" : "not_written";
  switch (outcome.kind) {
    case "below-minimum":
      return { at, found: null, outcome: "below_minimum" };
    case "miss":
      return { at, found: null, outcome: behind };
    case "hit": {
      const { position, lifetime } = outcome.hit;
      return { at, found: { at: position, lifetime }, outcome: position === at ? "read" : behind };
    }
  }
}

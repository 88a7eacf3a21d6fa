import * as fc from "fast-check";

/** `npm run test:long` (vitest --mode long) sets it. */
const isLong = process.env["PALIMPSEST_LONG"] === "1";

/** Quick runs are the same everywhere; long ones look elsewhere each time. PALIMPSEST_SEED repeats a failed one. */
export const seed = Number(process.env["PALIMPSEST_SEED"] ?? (isLong ? Date.now() % 0x7fffffff : 20_260_101));

export interface Runs {
  readonly quick: number;
  readonly long: number;
}

export const parametersFor = ({
  quick,
  long,
}: Runs): { seed: number; numRuns: number; verbose: fc.VerbosityLevel } => ({
  seed,
  numRuns: isLong ? long : quick,
  verbose: fc.VerbosityLevel.None,
});

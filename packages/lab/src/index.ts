/** The public names of `@palimpsest/lab`. */
export { measureFile, type MeasureFileOutcome } from "./fidelity/measure-fidelity.ts";
export type { FidelityRequest } from "./fidelity/measure-fidelity.ts";
export type { FidelityOutcome } from "./fidelity/fidelity-outcome.ts";
export { fidelityPlot } from "./fidelity/fidelity-plot.ts";
export { FidelityTally } from "./fidelity/fidelity-tally.ts";
export type { ReplayOutcome } from "./replay-outcome.ts";
export { type ReplayDeps, type ReplayFileOutcome, replayFile, type ReplayRequest } from "./replay-file.ts";
export { renderReport } from "./report/render-report.ts";
export { createTally, type PolicySummary, type PriceSummary, type TallyOptions } from "./tally.ts";

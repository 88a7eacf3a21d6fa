/** The public names of `@palimpsest/lab`, one by one. */
export { measureFile, type MeasuredFile } from "./fidelity/measure-file.ts";
export type { FidelityRequest } from "./fidelity/measure.ts";
export type { FidelityOutcome } from "./fidelity/outcome.ts";
export { fidelityPlot } from "./fidelity/plot.ts";
export { FidelityTally } from "./fidelity/tally.ts";
export type { ReplayOutcome } from "./outcome.ts";
export { type ReplayDeps, type ReplayedFile, replayFile, type ReplayRequest } from "./replay-file.ts";
export { renderReport } from "./report/html.ts";
export { createTally, type PolicySummary, type PriceSummary, type TallyOptions } from "./summary.ts";

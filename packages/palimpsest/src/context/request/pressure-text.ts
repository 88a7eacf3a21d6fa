import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { compactToolName } from "../../ports/compaction-requests.ts";
import type { pressureBandPercents } from "../limits.ts";

/** Percent of the tokens at which compaction starts. */
export type PressureBand = (typeof pressureBandPercents)[number];

export interface PressureFigures {
  readonly band: PressureBand;
  readonly usedTokens: number;
  /** The tokens at which compaction starts or, if it is off, the most that a request can hold. */
  readonly limitTokens: number;
  readonly autoCompact: ResolvedSettings["autoCompact"];
}

/** The body of the reminder that the model gets when its context has filled up to a band. */
export const pressureText = (figures: PressureFigures): string => `${roomText(figures)}\n${adviceOn[figures.band]}`;

function roomText({ usedTokens, limitTokens, autoCompact }: PressureFigures): string {
  const left = limitTokens - usedTokens;
  const comes =
    autoCompact === "on"
      ? "what was said so far is replaced by a summary"
      : "no request fits any more, since nothing is summarised by itself here";
  const room = left < figureStepTokens ? `any moment now ${comes}` : `about ${figure(left)} are left until ${comes}`;
  return `Your context holds about ${figure(usedTokens)} of ${figure(limitTokens)} tokens: ${room}.`;
}

/** Estimates are not more precise than this. */
const figureStepTokens = 100;

const figure = (count: number): string =>
  (Math.round(count / figureStepTokens) * figureStepTokens).toLocaleString("en-US");

const adviceOn: { readonly [Band in PressureBand]: string } = {
  50: `Nothing needs to be done now. When a piece of work is finished and its details are no longer needed, you can call the tool ${compactToolName} with a note on how to go on.`,
  75: `Bring the step you are on to an end before you begin a large one. Write down what would be hard to find again: in the task list, in a file, or in the note that the tool ${compactToolName} takes.`,
  90: `Finish what you are in the middle of and open nothing large. Then call the tool ${compactToolName} with a note: what is done, what comes next, what must not be forgotten.`,
};

import { writeFile } from "node:fs/promises";
import { fidelityPlot } from "@palimpsest/lab/internal/fidelity/plot";
import { FidelityTally } from "@palimpsest/lab/internal/fidelity/tally";
import type { CommandContext } from "../command.ts";
import { fidelityText, type MeasuredUnder } from "../fidelity-text.ts";
import type { FailedFile, JobsDone } from "../replay/run-jobs.ts";
import { type Counts, jsonArray, notesOf, type SkippedFile, tellRest } from "../replay/show-outcomes.ts";
import type { FidelityJob } from "./job.ts";
import { readMeasured } from "./kept.ts";

export interface ShowingMeasured {
  /** In the order in which outcomes are told. */
  readonly jobs: readonly FidelityJob[];
  readonly done: JobsDone<FidelityJob>;
  readonly under: MeasuredUnder;
  readonly format: "text" | "json";
  readonly svg: string | undefined;
}

/** Reads the outcomes back one file at a time: memory holds the figures of all and no more. */
export async function showMeasured(context: CommandContext, showing: ShowingMeasured): Promise<Counts> {
  const { jobs, done, under, format, svg } = showing;
  const tally = new FidelityTally();
  const skipped: SkippedFile[] = [];
  const failed: FailedFile[] = [...done.failed];
  const array = jsonArray(context);
  let replayed = 0;
  for (const { path } of jobs) {
    const job = done.doneByPath.get(path);
    if (job === undefined) continue;
    const kept = await readMeasured(job.keptPath);
    if (kept === undefined) failed.push({ path, message: "what was kept of it can't be read: run it again" });
    if (kept?.kind === "skipped") skipped.push({ path, why: kept.why });
    if (kept?.kind !== "measured") continue;
    replayed += 1;
    tally.add(kept);
    if (format === "json") for (const outcome of kept.outcomes) await array.add(outcome);
  }
  if (format === "json") await array.end();
  const figures = tally.figures();
  if (format === "text") await context.out.write(fidelityText(figures, under));
  if (svg !== undefined) await writeFile(svg, fidelityPlot(figures, under));
  const notes = notesOf({ files: jobs.length, replayed, skipped: skipped.length, failed: failed.length });
  await tellRest(context, { notes, skipped, failed });
  return { replayed, failed: failed.length };
}

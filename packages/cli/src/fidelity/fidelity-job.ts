import { join } from "node:path";
import type { FidelityRequest, MeasureFileOutcome } from "@palimpsest/lab/internal/fidelity/measure-fidelity";
import { hashJson, type JobOptions, type SessionFile } from "../replay/file-job.ts";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { fidelityRunShape, fidelityShape } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { replaceFile } from "palimpsest/internal/store/files/disk";

/** One file to be measured. Passed to a thread, so only data. */
export interface FidelityJob extends FidelityRequest {
  readonly sizeBytes: number;
  /** Where the outcomes are stored; the name is derived from everything they depend on. */
  readonly keptPath: string;
}

/** What outcomes depend on besides the file. */
export type FidelityJobOptions = Omit<FidelityRequest, "path"> & Pick<JobOptions, "version" | "rules" | "keptFolder">;

/** The same file with the same options has the same name, so a run finds the outcomes of an earlier one. */
export function createFidelityJob(file: SessionFile, options: FidelityJobOptions): FidelityJob {
  const { policies, windowTokens, summariser, compactions, version, rules } = options;
  const { path, sizeBytes, modifiedMillis } = file;
  const settings = [policies, windowTokens ?? null, summariser, compactions, version, rules];
  const key = hashJson(["fidelity", path, sizeBytes, modifiedMillis, ...settings]);
  const keptPath = join(options.keptFolder, `${key}.jsonl`);
  return { path, sizeBytes, policies, windowTokens, summariser, compactions, keptPath };
}

const measuredFileShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("measured"), outcomes: z.array(fidelityShape), runs: z.array(fidelityRunShape) }),
  z.object({ kind: z.literal("skipped"), why: z.string() }),
]) satisfies z.ZodType<MeasureFileOutcome>;

export async function writeMeasured(path: string, file: MeasureFileOutcome): Promise<void> {
  await replaceFile({ path, data: Buffer.from(`${JSON.stringify(file)}\n`), sync: "unsynced" });
}

/** Undefined if nothing is stored or the file is incomplete: then the file is measured again. */
export async function readMeasured(path: string): Promise<MeasureFileOutcome | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return measuredFileShape.safeParse(tryParseJson(text)).data;
}

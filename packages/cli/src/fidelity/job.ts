import { join } from "node:path";
import type { FidelityRequest } from "@palimpsest/lab/internal/fidelity/measure";
import { hashOf, type JobOptions, type SessionFile } from "../replay/job.ts";

/** One file to be measured. Passed to a thread, so only data. */
export interface FidelityJob extends FidelityRequest {
  readonly sizeBytes: number;
  /** Where the outcomes are kept; the name says what they are outcomes of. */
  readonly keptPath: string;
}

/** What outcomes depend on besides the file. */
export type FidelityJobOptions = Omit<FidelityRequest, "path"> & Pick<JobOptions, "version" | "rules" | "keptFolder">;

/** The same file with the same options has the same name, so a run finds what an earlier one did. */
export function fidelityJobOf(file: SessionFile, options: FidelityJobOptions): FidelityJob {
  const { policies, windowTokens, summariser, compactions, version, rules } = options;
  const { path, sizeBytes, modifiedMillis } = file;
  const computed = [policies, windowTokens ?? null, summariser, compactions, version, rules];
  const key = hashOf(["fidelity", path, sizeBytes, modifiedMillis, ...computed]);
  const keptPath = join(options.keptFolder, `${key}.jsonl`);
  return { path, sizeBytes, policies, windowTokens, summariser, compactions, keptPath };
}

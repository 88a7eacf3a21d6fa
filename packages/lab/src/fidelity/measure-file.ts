import { readRecording } from "../read-recording.ts";
import type { ReplayDeps } from "../replay-file.ts";
import { type FidelityRequest, type Measured, measureFidelity, type RecallDep } from "./measure.ts";

export type MeasuredFile =
  | ({ readonly kind: "measured" } & Measured)
  | { readonly kind: "skipped"; readonly why: string };

/** Every policy on one recorded session. Costs memory for one recording, one run and one index of it. */
export async function measureFile(deps: ReplayDeps & RecallDep, request: FidelityRequest): Promise<MeasuredFile> {
  const source = await deps.open(request.path);
  if (source === undefined) return { kind: "skipped", why: "the file is gone" };
  const read = await readRecording(deps, { file: request.path, source });
  if (read.kind !== "recording") return { kind: "skipped", why: read.why };
  return { kind: "measured", ...(await measureFidelity(deps, { recording: read.recording, request })) };
}

import { chmodSync, closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { ReplayFileOutcome, ReplayRequest, ReplayDeps } from "@palimpsest/lab/internal/replay-file";
import { fileMode, temporaryPath } from "palimpsest/internal/store/files/disk";
import { type FileJob, writeOutcomes } from "./file-job.ts";
import { traceBufferBytesMax } from "./limits.ts";
import { dirname, join, sep } from "node:path";
import { type Workspace } from "../host/workspace.ts";
import { sha256 } from "../host/project-store.ts";
import { fileBlobs } from "palimpsest/internal/store/files/file-blobs";

/** What a thread reports about a file; the outcomes themselves go to disk. */
export type JobOutcome = { readonly kind: "kept" } | { readonly kind: "failed"; readonly message: string };

/** Must not reject: a bug that one file triggers costs this file only. */
export async function replayJob(
  deps: { readonly replay: (request: ReplayRequest) => Promise<ReplayFileOutcome> },
  job: FileJob,
): Promise<JobOutcome> {
  const trace = job.tracePath === undefined ? undefined : traceFile(job.tracePath);
  try {
    const { path, policies, prices, windowTokens, refetch, cache, compaction } = job;
    const request = { path, policies, prices, windowTokens, refetch, cache, compaction };
    const file = await deps.replay(trace === undefined ? request : { ...request, onRequest: trace.write });
    if (file.kind === "replayed") trace?.finish();
    // Written last: a file with outcomes is not replayed again, so its trace must exist.
    await writeOutcomes(job.keptPath, file);
    return { kind: "kept" };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  } finally {
    trace?.discard();
  }
}

interface TraceFile {
  readonly write: (line: object) => void;
  /** Gives the file its final name. */
  readonly finish: () => void;
  /** Does nothing after `finish`. */
  readonly discard: () => void;
}

/** Written synchronously: a thread has nothing else to do meanwhile, and pending writes would pile up in memory. */
function traceFile(path: string): TraceFile {
  const temporary = temporaryPath(path);
  let file: number | undefined;
  let buffered = "";
  const flush = (): void => {
    file ??= openSync(temporary, "ax", fileMode);
    const data = Buffer.from(buffered);
    for (let at = 0; at < data.length;) at += writeSync(file, data, at);
    buffered = "";
  };
  const close = (): void => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  return {
    write: (line) => {
      buffered += `${JSON.stringify(line)}\n`;
      if (buffered.length >= traceBufferBytesMax) flush();
    },
    finish: () => {
      flush();
      close();
      chmodSync(temporary, fileMode);
      renameSync(temporary, path);
    },
    discard: () => {
      close();
      rmSync(temporary, { force: true });
    },
  };
}

/** Our sessions keep large results in separate files; nothing is written, so nothing needs to be synced. */
export function createReplayDeps(workspace: Pick<Workspace, "home" | "openFile">, path: string): ReplayDeps {
  const isOurs = path.startsWith(join(workspace.home, "projects") + sep);
  const blobs = isOurs ? { blobs: fileBlobs({ folder: dirname(path), durability: "never" }) } : {};
  return { sha256, open: (file) => workspace.openFile(file), ...blobs };
}

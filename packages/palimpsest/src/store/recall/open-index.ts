import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { OpenRecallOptions, OpenRecallOutcome } from "../../ports/recall-index.ts";
import { type ChunkCodec, platformCodec } from "./chunk-codec.ts";
import { isBusy, isRefused, platformSqlite, RecallDatabase } from "./database.ts";
import { SqliteRecallIndex } from "./recall-index.ts";

export interface IndexPlace {
  /** A file, or `:memory:`. */
  readonly path: string;
  /** How texts are stored; by default compressed. */
  readonly codec?: ChunkCodec | undefined;
  /** Deletes the file and what belongs to it. */
  readonly remove: () => void;
  readonly sizeBytes: () => Promise<number>;
}

/** Must not reject. A file that is no index of this version is replaced. */
export async function openRecallIndex(
  deps: ClockDep & IdsDep,
  { place, options }: { readonly place: IndexPlace; readonly options: OpenRecallOptions },
): Promise<OpenRecallOutcome> {
  const sqlite = platformSqlite();
  const codec = place.codec ?? platformCodec();
  if (sqlite === undefined || codec === undefined)
    return { kind: "unavailable", why: "this platform has no SQLite: Node 22.13 or newer has it" };
  const openDatabase = (mode: "existing" | "anew"): RecallDatabase => {
    if (mode === "anew") place.remove();
    try {
      return RecallDatabase.open(sqlite, place.path);
    } catch (error) {
      if (mode === "anew" || isBusy(error) || isRefused(error)) throw error;
      return openDatabase("anew");
    }
  };
  try {
    const index = new SqliteRecallIndex({
      ...options,
      deps,
      codec,
      holder: `${process.pid} ${deps.uuid()}`,
      isRunning: (holder) => isProcess(Number.parseInt(holder, 10)),
      openDatabase,
      sizeBytes: place.sizeBytes,
    });
    return { kind: "open", index };
  } catch (error) {
    if (!isRefused(error) && !isBusy(error)) throw error;
    const why = error instanceof Error ? error.message : "unknown";
    return { kind: "failed", why: "io", message: `The recall index ${place.path} can't be opened (${why}).` };
  }
}

function isProcess(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // Any other refusal means that it runs, under another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

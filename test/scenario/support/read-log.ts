import { readFile, writeFile } from "node:fs/promises";
import { checkLog, type LogCheck } from "../../../packages/palimpsest/src/session/check-log.ts";
import { openLog } from "../../../packages/palimpsest/src/session/open-log.ts";
import type { SessionDeps } from "../../../packages/palimpsest/src/session/session.ts";
import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import { sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { ByteSource } from "../../../packages/palimpsest/src/ports/transcripts.ts";
import type { Damage } from "../../../packages/palimpsest/src/transcript/read-lines.ts";
import { pathOf, type Project } from "./project.ts";

/** A session on disk and what it shows after each of its lines. */
export interface SmallLog extends Project {
  readonly bytes: Buffer;
  /** Offset behind each line, its newline included; 0 first. */
  readonly ends: readonly number[];
  readonly viewAfter: readonly (readonly Message[])[];
}

export async function readSmallLog(project: Project, id: string): Promise<SmallLog> {
  const bytes = await readFile(pathOf(project, id));
  const ends = [0, ...[...bytes.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))];
  const reference = `reference-${process.pid}`;
  const viewAfter: (readonly Message[])[] = [];
  for (const end of ends) {
    await writeFile(pathOf(project, reference), bytes.subarray(0, end));
    viewAfter.push((await readView(project.deps, reference)).messages);
  }
  return { ...project, bytes, ends, viewAfter };
}

export interface ReadView {
  readonly entries: number;
  readonly damage: readonly Damage[];
  readonly messages: readonly Message[];
}

/** As `view` reads it: opened for reading through the store. */
export const readView = (deps: SessionDeps, id: string): Promise<ReadView> =>
  reading(deps, id, (source) => viewOfSource(deps, source));

export async function viewOfSource(deps: SessionDeps, source: ByteSource): Promise<ReadView> {
  const { fold, damage } = await openLog(deps, { source, origin: "ours" });
  const { messages, path } = fold.view();
  return { entries: path.entries, damage, messages };
}

/** As `fsck` reads it. */
export const readCheck = (deps: SessionDeps, id: string): Promise<LogCheck> =>
  reading(deps, id, (source) => checkLog(source));

async function reading<Result>(
  deps: SessionDeps,
  id: string,
  act: (source: ByteSource) => Promise<Result>,
): Promise<Result> {
  const source = await deps.transcripts.openForReading(sessionId(id));
  if (source === undefined) throw new Error(`no session ${id}`);
  try {
    return await act(source);
  } finally {
    await source.close();
  }
}

/** Whole lines up to a cut; a last line that only lacks its newline is whole. */
export function wholeLines(
  { ends }: Pick<SmallLog, "ends">,
  cut: number,
): { lines: number; tornFrom: number | undefined } {
  const lines = ends.findLastIndex((end) => end <= cut);
  const next = ends[lines + 1];
  if (ends[lines] === cut) return { lines, tornFrom: undefined };
  return next === cut + 1 ? { lines: lines + 1, tornFrom: undefined } : { lines, tornFrom: ends[lines] };
}

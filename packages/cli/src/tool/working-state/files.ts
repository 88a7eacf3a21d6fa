import type { ReadFile, ReadFiles } from "palimpsest/internal/ports/tools";
import { type RestoreRequest, stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";
import { mediaOf } from "../file/media.ts";
import { type FileRead, readWhole } from "../file/open.ts";
import { cutLine } from "../file/read.ts";
import { decodeText, linesOf, numbered } from "../file/text.ts";
import { charsPerTokenMax } from "palimpsest/internal/layers/4-compact/limits";

export interface FilesPartDeps {
  /** The conversation's. */
  readonly files: ReadFiles;
  /** Rules may have changed since the file was read. */
  readonly mayRead: (path: string) => boolean;
  /** Plan, instruction and memory files: other parts, or the fixed part, show those. */
  readonly isToldElsewhere: (path: string) => boolean;
}

/** The files read or changed last, as they are on the disk now. */
export const filesPart = (deps: FilesPartDeps): WorkingStatePart => ({
  name: "files",
  stability: stabilityOf.files,
  snapshot: async (request) => {
    const pieces = await piecesOf(deps, request);
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: request.budgets.files };
  },
});

async function piecesOf(deps: FilesPartDeps, request: RestoreRequest): Promise<readonly RestoredPiece[]> {
  const { piecesMax = Number.POSITIVE_INFINITY } = request.budgets.files;
  const pieces: RestoredPiece[] = [];
  let shown = 0;
  for (const [path, known] of Array.from(deps.files.entries()).toReversed()) {
    if (deps.isToldElsewhere(path)) continue;
    const isKept = !isUnshown(known) && request.isKept(known.shownBy);
    // What is beyond the budget is not read: it is named, unless a kept message shows it.
    if (shown >= piecesMax) {
      if (!isKept) pieces.push({ title: path, handle: readAgain });
      continue;
    }
    const piece = await pieceOf(deps, { path, known, isKept, request });
    if (piece?.text !== undefined) shown += 1;
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

interface Candidate {
  readonly path: string;
  readonly known: ReadFile;
  readonly isKept: boolean;
  readonly request: RestoreRequest;
}

/** Undefined where a kept message shows the file as it still is. */
async function pieceOf(
  deps: FilesPartDeps,
  { path, known, isKept, request }: Candidate,
): Promise<RestoredPiece | undefined> {
  if (!deps.mayRead(path)) return { title: path, handle: "a rule forbids to read it now" };
  const read = await readWhole(path);
  if (read.kind === "absent") return { title: path, handle: "it is no longer there" };
  if (read.kind === "refused") return { title: path, handle: `it can't be read now: ${read.message}` };
  const isChanged = read.hash !== known.hash;
  if (isKept && !isChanged) return undefined;
  const since = isChanged ? "it has changed since it was last read; " : "";
  if (mediaOf(read.bytes) !== undefined) return { title: path, handle: `${since}not text: ${readAgain}` };
  const text = decodeText(read.bytes);
  if (text === undefined) return { title: path, handle: `${since}a binary file, or not UTF-8` };
  const lines = linesOf(text.text);
  return {
    title: path,
    intro: isChanged
      ? `${path} has changed on disk since it was last read. It now reads:`
      : `Content of ${path}, read again just now:`,
    text: lines.length === 0 ? "(the file is empty)" : beginning(lines, request.budgets.files.pieceTokensMax),
    handle: `${since}${readAgain}`,
    file: { path, ...stateOf(read), lines: Math.max(1, lines.length) },
  };
}

const readAgain = "read it again when you need it";

const stateOf = ({ hash, modifiedMs }: Extract<FileRead, { kind: "file" }>): Pick<ReadFile, "hash" | "modifiedMs"> => ({
  hash,
  modifiedMs,
});

/** A change names the file without showing it. */
const isUnshown = ({ lines }: ReadFile): boolean => lines !== undefined && lines.to < lines.from;

/** More than could fit is not numbered. */
function beginning(lines: readonly string[], tokensMax: number): string {
  const shown: string[] = [];
  let chars = 0;
  for (const [at, line] of lines.entries()) {
    const one = numbered(at + 1, cutLine(line));
    shown.push(one);
    chars += one.length + 1;
    if (chars > tokensMax * charsPerTokenMax) break;
  }
  return shown.join("\n");
}

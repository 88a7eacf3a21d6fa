import type { ReadFile, ReadFiles } from "palimpsest/internal/ports/tool";
import { type RestoreRequest, usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";
import { detectMedia, cutLine } from "../file/read-tool.ts";
import { type ReadFileOutcome, readWholeFile, decodeText, splitLines, numberLine } from "../file/text-file.ts";
import { charsPerTokenMax } from "palimpsest/internal/layers/4-compact/limits";

export interface FilesPartDeps {
  /** The files of the conversation. */
  readonly files: ReadFiles;
  /** Rules may have changed since the file was read. */
  readonly mayRead: (path: string) => boolean;
  /** Plan, instruction and memory files: other parts, or the fixed part, show those. */
  readonly isShownElsewhere: (path: string) => boolean;
}

/** The files read or changed most recently, as they are on disk now. */
export const filesPart = (deps: FilesPartDeps): WorkingStatePart => ({
  name: "files",
  stability: usualStability.files,
  snapshot: async (request) => {
    const pieces = await filePieces(deps, request);
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: request.budgets.files };
  },
});

async function filePieces(deps: FilesPartDeps, request: RestoreRequest): Promise<readonly RestoredPiece[]> {
  const { piecesMax = Number.POSITIVE_INFINITY } = request.budgets.files;
  const pieces: RestoredPiece[] = [];
  let shown = 0;
  for (const [path, known] of Array.from(deps.files.entries()).toReversed()) {
    if (deps.isShownElsewhere(path)) continue;
    const isKept = !isUnshown(known) && request.isKept(known.shownBy);
    // Beyond the budget a file is not read, only named, unless a kept message shows it.
    if (shown >= piecesMax) {
      if (!isKept) pieces.push({ title: path, handle: readAgain });
      continue;
    }
    const piece = await filePiece(deps, { path, known, isKept, request });
    if (piece?.text !== undefined) shown += 1;
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

/** Undefined if a kept message shows the file and it is unchanged. */
async function filePiece(
  deps: FilesPartDeps,
  {
    path,
    known,
    isKept,
    request,
  }: { readonly path: string; readonly known: ReadFile; readonly isKept: boolean; readonly request: RestoreRequest },
): Promise<RestoredPiece | undefined> {
  if (!deps.mayRead(path)) return { title: path, handle: "a rule forbids to read it now" };
  const read = await readWholeFile(path);
  if (read.kind === "absent") return { title: path, handle: "it is no longer there" };
  if (read.kind === "refused") return { title: path, handle: `it can't be read now: ${read.message}` };
  const isChanged = read.hash !== known.hash;
  if (isKept && !isChanged) return undefined;
  const since = isChanged ? "it has changed since it was last read; " : "";
  if (detectMedia(read.bytes) !== undefined) return { title: path, handle: `${since}not text: ${readAgain}` };
  const text = decodeText(read.bytes);
  if (text === undefined) return { title: path, handle: `${since}a binary file, or not UTF-8` };
  const lines = splitLines(text.text);
  return {
    title: path,
    intro: isChanged
      ? `${path} has changed on disk since it was last read. It now reads:`
      : `Content of ${path}, read again just now:`,
    text: lines.length === 0 ? "(the file is empty)" : renderBeginning(lines, request.budgets.files.pieceTokensMax),
    handle: `${since}${readAgain}`,
    file: { path, ...fileVersion(read), lines: Math.max(1, lines.length) },
  };
}

const readAgain = "read it again when you need it";

const fileVersion = ({
  hash,
  modifiedMs,
}: Extract<ReadFileOutcome, { kind: "file" }>): Pick<ReadFile, "hash" | "modifiedMs"> => ({
  hash,
  modifiedMs,
});

/** A change names the file without showing it. */
const isUnshown = ({ lines }: ReadFile): boolean => lines !== undefined && lines.to < lines.from;

/** Stops once the text is longer than could fit. */
function renderBeginning(lines: readonly string[], tokensMax: number): string {
  const shown: string[] = [];
  let chars = 0;
  for (const [at, line] of lines.entries()) {
    const numbered = numberLine(at + 1, cutLine(line));
    shown.push(numbered);
    chars += numbered.length + 1;
    if (chars > tokensMax * charsPerTokenMax) break;
  }
  return shown.join("\n");
}

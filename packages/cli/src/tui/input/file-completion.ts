import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Millis } from "palimpsest/internal/schema/brand";
import { searchArgs, runRipgrep } from "../../tool/search/run-ripgrep.ts";
import { completionFilesMax, completionListMs, completionSliceFiles, completionsMax } from "../limits.ts";
import { isEditable } from "./to-editable.ts";
import { BestNames, fuzzyScoreLowercase } from "../text/fuzzy-score.ts";

export interface FileListDep {
  /** Tells every file below the folder as it is found; `stop` ends it. Must not reject. */
  readonly listFiles: (onFile: (path: string) => "go-on" | "stop", signal: AbortSignal) => Promise<void>;
}

/** With ripgrep: what ignore files name is left out. */
export const listFilesBelow = (folder: string): FileListDep => ({
  listFiles: async (onFile, signal) => {
    await runRipgrep({
      args: ["--files", "--null", ...searchArgs, "--", "."],
      cwd: folder,
      signal,
      separator: "\0",
      onPiece: (piece) => onFile(piece.replace(/^\.\//, "")),
    });
  },
});

export interface PauseDep {
  /** Lets keys and the screen have their turn. */
  readonly pause: () => Promise<void>;
}

export type FileCompletionDeps = FileListDep & PauseDep & ClockDep;

/**
 * Candidates for `@`: files whose names can be typed. The list comes in the background and is asked at any moment for the best of what it has so far; typing
 * one more letter looks only at what matched before. A list that has grown old is made anew beside the one in use.
 */
export class FileCompletion {
  readonly #deps: FileCompletionDeps;
  readonly #onNews: () => void;
  readonly #ending = new AbortController();
  #files: readonly ListedFile[] = [];
  #listedAt: Millis | undefined;
  #isListing = false;
  #last: LastSearch | undefined;

  /** `onNews`: more files are known than when it was asked last. */
  constructor(deps: FileCompletionDeps, onNews: () => void) {
    this.#deps = deps;
    this.#onNews = onNews;
  }

  /** The best first, at most `completionsMax`; none where the next key has come before they were found. */
  async candidates(typed: string, signal: AbortSignal): Promise<readonly string[]> {
    this.#refresh();
    const wanted = typed.toLowerCase();
    const files = this.#files;
    const seen = files.length;
    const matching: ListedFile[] = [];
    const best = new BestNames<string>(completionsMax);
    for (const [index, file] of this.#worthALook(wanted).entries()) {
      if (index % completionSliceFiles === completionSliceFiles - 1) await this.#deps.pause();
      if (signal.aborted) return [];
      const score = fuzzyScoreLowercase(wanted, file.small);
      if (score === undefined) continue;
      matching.push(file);
      best.offer({ name: file.path, score });
    }
    this.#last = { wanted, matching, of: files, seen };
    return best.names;
  }

  /** What did not match fewer letters does not match more of them. */
  #worthALook(wanted: string): readonly ListedFile[] {
    const last = this.#last;
    const isNarrower = last !== undefined && last.of === this.#files && wanted.startsWith(last.wanted);
    return isNarrower ? [...last.matching, ...this.#files.slice(last.seen)] : [...this.#files];
  }

  close(): void {
    this.#ending.abort();
  }

  #refresh(): void {
    const isFresh = this.#listedAt !== undefined && this.#deps.now() - this.#listedAt < completionListMs;
    if (this.#isListing || isFresh || this.#ending.signal.aborted) return;
    this.#isListing = true;
    void this.#list();
  }

  /** The first list is used while it grows; a later one takes its place when it is whole. */
  async #list(): Promise<void> {
    const found: ListedFile[] = [];
    const isFirst = this.#listedAt === undefined;
    if (isFirst) this.#files = found;
    const onFile = (path: string): "go-on" | "stop" => {
      if (!isEditable(path)) return "go-on";
      found.push({ path, small: path.toLowerCase() });
      if (isFirst && isPowerOfTwo(found.length)) this.#onNews();
      return found.length < completionFilesMax ? "go-on" : "stop";
    };
    await this.#deps.listFiles(onFile, this.#ending.signal);
    this.#isListing = false;
    this.#listedAt = this.#deps.now();
    this.#files = found;
    if (!this.#ending.signal.aborted) this.#onNews();
  }
}

/** While a list grows it is shown again each time that it has doubled. */
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

interface ListedFile {
  readonly path: string;
  /** In small letters, made once. */
  readonly small: string;
}

interface LastSearch {
  readonly wanted: string;
  readonly matching: readonly ListedFile[];
  readonly of: readonly ListedFile[];
  /** How many of the files have been looked at. */
  readonly seen: number;
}

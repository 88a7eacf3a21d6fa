import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Millis } from "palimpsest/internal/schema/brand";
import { searchArgs, runRipgrep } from "../../tool/search/run-ripgrep.ts";
import { completionFilesMax, completionListMs, completionSliceFiles, completionsMax } from "../limits.ts";
import { isEditable } from "./to-editable.ts";
import { BestNames, fuzzyScoreLowercase } from "../text/fuzzy-score.ts";

export interface FileListDep {
  /** Reports every file below the folder as it is found, until the callback returns `stop`. Must not reject. */
  readonly listFiles: (onFile: (path: string) => "go-on" | "stop", signal: AbortSignal) => Promise<void>;
}

/** Uses ripgrep, so ignored files are left out. */
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
  /** Lets the event loop handle keys and the screen. */
  readonly pause: () => Promise<void>;
}

export type FileCompletionDeps = FileListDep & PauseDep & ClockDep;

/**
 * Candidates for `@`: files whose names can be typed. The list is read in the background, and a search returns the best of
 * what is known so far; one more letter searches only the previous matches. An old list is replaced by a new one, and stays
 * in use until that is complete.
 */
export class FileCompletion {
  readonly #deps: FileCompletionDeps;
  readonly #onNews: () => void;
  readonly #ending = new AbortController();
  #files: readonly ListedFile[] = [];
  #listedAt: Millis | undefined;
  #isListing = false;
  #last: LastSearch | undefined;

  /** `onNews` is called when more files are known than before. */
  constructor(deps: FileCompletionDeps, onNews: () => void) {
    this.#deps = deps;
    this.#onNews = onNews;
  }

  /** At most `completionsMax`, the best first; none if the next key aborts the search. */
  async candidates(typed: string, signal: AbortSignal): Promise<readonly string[]> {
    this.#refresh();
    const query = typed.toLowerCase();
    const files = this.#files;
    const searchedCount = files.length;
    const matching: ListedFile[] = [];
    const best = new BestNames<string>(completionsMax);
    for (const [index, file] of this.#filesToSearch(query).entries()) {
      if (index % completionSliceFiles === completionSliceFiles - 1) await this.#deps.pause();
      if (signal.aborted) return [];
      const score = fuzzyScoreLowercase(query, file.lowercase);
      if (score === undefined) continue;
      matching.push(file);
      best.offer({ name: file.path, score });
    }
    this.#last = { query, matching, files, searchedCount };
    return best.names;
  }

  /** Files that did not match fewer letters cannot match more. */
  #filesToSearch(query: string): readonly ListedFile[] {
    const last = this.#last;
    const isNarrower = last !== undefined && last.files === this.#files && query.startsWith(last.query);
    return isNarrower ? [...last.matching, ...this.#files.slice(last.searchedCount)] : [...this.#files];
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

  /** The first list is used while it grows; a later one replaces it when it is complete. */
  async #list(): Promise<void> {
    const found: ListedFile[] = [];
    const isFirst = this.#listedAt === undefined;
    if (isFirst) this.#files = found;
    const onFile = (path: string): "go-on" | "stop" => {
      if (!isEditable(path)) return "go-on";
      found.push({ path, lowercase: path.toLowerCase() });
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

/** A growing list is shown again each time it has doubled. */
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

interface ListedFile {
  readonly path: string;
  /** The path in lower case, computed once. */
  readonly lowercase: string;
}

interface LastSearch {
  readonly query: string;
  readonly matching: readonly ListedFile[];
  readonly files: readonly ListedFile[];
  /** How many of the files were searched. */
  readonly searchedCount: number;
}

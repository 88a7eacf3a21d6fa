import type { WorkingTree } from "palimpsest/internal/ports/working-tree";
import { wordSearchMs } from "../limits.ts";
import { runRipgrep } from "./run-ripgrep.ts";

/** Searches a folder for whole words, all at once; ignored files are left out. Undefined if it takes too long or fails. */
export const findWordsIn =
  (folder: string): NonNullable<WorkingTree["findWords"]> =>
  async (words) => {
    const missing = new Set(words);
    const patterns = words.flatMap((word) => ["-e", word]);
    const end = await runRipgrep({
      args: [
        "--only-matching",
        "--word-regexp",
        "--fixed-strings",
        "--no-filename",
        "--no-messages",
        ...patterns,
        "./",
      ],
      cwd: folder,
      signal: AbortSignal.timeout(wordSearchMs),
      separator: "\n",
      onPiece: (word) => {
        missing.delete(word);
        return missing.size === 0 ? "stop" : "go-on";
      },
    });
    if (end.kind === "failed" || (end.kind === "cut" && end.why !== "stopped")) return undefined;
    return new Set(words.filter((word) => !missing.has(word)));
  };

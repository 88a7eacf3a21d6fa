import type { CompactionPath } from "../../schema/compaction.ts";
import { oneLine } from "../human.ts";

/** What produced a summary, for a line of text. */
export const wordsByPath: Readonly<Record<CompactionPath, string>> = {
  notes: "by the notes",
  fork: "by a fork of the conversation",
  stream: "by a call of its own",
  server: "by the server",
  extractive: "without a model",
  given: "by you",
};

/** The same of a path that a log names, which may be one that we do not know. */
export const recordedPathWords = (path: string): string => (isPath(path) ? wordsByPath[path] : `by ${oneLine(path)}`);

const isPath = (path: string): path is CompactionPath => Object.hasOwn(wordsByPath, path);

import type { CompactionPath } from "palimpsest/internal/schema/compaction";
import { wordsByPath } from "../tui/text/compaction-words.ts";
import { oneLine } from "../human.ts";

/** What produced a summary that a log tells of: its path may be one that we do not know. */
export const recordedPathWords = (path: string): string => (isPath(path) ? wordsByPath[path] : `by ${oneLine(path)}`);

const isPath = (path: string): path is CompactionPath => Object.hasOwn(wordsByPath, path);

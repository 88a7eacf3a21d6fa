import type { RecallDocument, RecallSource } from "../ports/recall-index.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { isObject, type Json, tryParseJson } from "../schema/json.ts";
import { memoryBlobs, memoryByteSource } from "../store/memory/memory-blobs.ts";
import { openForeign } from "./adopt-once.ts";
import { openLogDocument } from "./recall-sources.ts";
import type { HashDep } from "./session-origin.ts";

/** A log of another agent, before it is known whether it belongs to the project. */
export interface ForeignLogFile {
  readonly key: string;
  readonly session: string;
  readonly title: string | undefined;
  readonly version: string;
  readonly size: number;
  readonly modified: string;
  /** The folder in which the session was started; undefined if it has to be read from the log. */
  readonly directory?: string | undefined;
}

export interface ForeignSourceDeps {
  readonly sha256: HashDep;
  /** Undefined if they can't be listed now. Must not reject. */
  readonly list: () => Promise<readonly ForeignLogFile[] | undefined>;
  /** The beginning of a log. Must not reject. */
  readonly head: (key: string) => Promise<string | undefined>;
  /** A log's own bytes, in any format that an importer knows. */
  readonly open: (key: string) => Promise<ByteSource | undefined>;
  readonly release?: (() => void) | undefined;
  /** Whether a folder belongs to the project. Must not reject. */
  readonly isOurs: (directory: string) => Promise<boolean>;
}

/** Sessions of another agent in the same project, where they lie. A log that does not say where it was written is left out. */
export function foreignSource(name: string, deps: ForeignSourceDeps): RecallSource {
  /** Where a log was written never changes, and asking for it reads the log. */
  const directoryByKey = new Map<string, string | undefined>();
  const oursByDirectory = new Map<string, Promise<boolean>>();
  const isOurs = (directory: string): Promise<boolean> => {
    const known = oursByDirectory.get(directory) ?? deps.isOurs(directory);
    oursByDirectory.set(directory, known);
    return known;
  };
  const directoryOf = async ({ key, directory }: ForeignLogFile): Promise<string | undefined> => {
    if (directory !== undefined) return directory;
    if (!directoryByKey.has(key)) {
      const recorded = recordedFolder((await deps.head(key)) ?? "");
      // A log that was just begun may not say it yet.
      if (recorded === undefined) return undefined;
      directoryByKey.set(key, recorded);
    }
    return directoryByKey.get(key);
  };
  return {
    name,
    list: async () => {
      const listed = await deps.list();
      if (listed === undefined) return undefined;
      const ours: RecallDocument[] = [];
      for (const file of listed) {
        const directory = await directoryOf(file);
        if (directory === undefined || !(await isOurs(directory))) continue;
        const { directory: _, ...document } = file;
        ours.push(document);
      }
      return ours;
    },
    open: async (key) => {
      const source = await deps.open(key);
      if (source === undefined) return undefined;
      const opened = await openForeign({ sha256: deps.sha256 }, source);
      // What can't be translated counts as empty: it is not read again until it changes.
      const log = opened.kind === "open" ? opened.source : memoryByteSource(new Uint8Array());
      return openLogDocument({ key, source: log, blobs: memoryBlobs() });
    },
    release: () => deps.release?.(),
  };
}

/** The folder that a log of Claude Code, Codex or pi names first. The last line of a head may be cut off. */
function recordedFolder(head: string): string | undefined {
  for (const line of head.split("\n")) {
    const value = tryParseJson(line);
    const folder = value === undefined ? folderInCutLine(line) : folderIn(value);
    if (folder !== undefined) return folder;
  }
  return undefined;
}

function folderIn(value: Json): string | undefined {
  if (!isObject(value)) return undefined;
  const { cwd, payload } = value;
  if (typeof cwd === "string" && cwd !== "") return cwd;
  const inner = isObject(payload) ? payload["cwd"] : undefined;
  return typeof inner === "string" && inner !== "" ? inner : undefined;
}

/** Quotation marks inside a string are escaped, so this is a key. */
function folderInCutLine(line: string): string | undefined {
  const [, written] = /^\{.{0,2000}?[{,]"cwd":("(?:[^"\\]|\\.)*")/s.exec(line) ?? [];
  const folder = written === undefined ? undefined : tryParseJson(written);
  return typeof folder === "string" && folder !== "" ? folder : undefined;
}

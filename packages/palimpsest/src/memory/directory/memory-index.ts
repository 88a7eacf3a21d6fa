import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { indexBytesMax, indexLineChars, indexLinesMax } from "./limits.ts";
import { indexPath } from "./memory-path.ts";

/** What a line of the index says about a memory. */
export interface IndexedMemory {
  readonly path: string;
  readonly name: string;
  readonly description: string;
}

interface IndexUpdate {
  /** `MEMORY.md` as it is; empty if there is none. */
  readonly index: string;
  readonly before: readonly IndexedMemory[];
  readonly after: readonly IndexedMemory[];
  /** Old path by new path, of files that were only moved. */
  readonly oldPathByNew?: ReadonlyMap<string, string>;
}

/**
 * The index after a change: pointers to files that are gone are removed, new memories are added at the end, and a line
 * follows its memory's description. A line that a user has written differently is kept as it is, and so are the order
 * and everything that is not a pointer.
 */
export function updateIndex({ index, before, after, oldPathByNew = new Map() }: IndexUpdate): string {
  const beforeByPath = new Map(before.map((memory) => [memory.path, memory]));
  const afterByPath = new Map(after.map((memory) => [memory.path, memory]));
  const newPathByOld = new Map([...oldPathByNew].map(([newPath, oldPath]) => [oldPath, newPath]));
  const pointed = new Set<string>();
  const kept = splitIndex(index).flatMap((line) => {
    const pointer = parsePointer(line);
    if (pointer === undefined) return [line];
    const path = afterByPath.has(pointer.path) ? pointer.path : (newPathByOld.get(pointer.path) ?? pointer.path);
    const memory = afterByPath.get(path);
    if (memory === undefined || pointed.has(path)) return [];
    pointed.add(path);
    const old = beforeByPath.get(pointer.path);
    const isOurs = old !== undefined && line.trim() === formatPointer(old);
    if (isOurs) return [formatPointer(memory)];
    return path === pointer.path ? [line] : [line.replace(`(${pointer.target})`, `(${encodeTarget(path)})`)];
  });
  const added = after.filter(({ path }) => !pointed.has(path)).map(formatPointer);
  while (added.length > 0 && kept.at(-1)?.trim() === "") kept.pop();
  const lines = [...kept, ...added];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

const splitIndex = (index: string): readonly string[] => {
  const lines = index.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
};

interface Pointer {
  readonly title: string;
  readonly path: string;
  /** The path as it is written. */
  readonly target: string;
  readonly hook: string;
}

/** Undefined for a line that points to no file of the directory. */
export function parsePointer(line: string): Pointer | undefined {
  const [, title = "", target = "", hook = ""] =
    /^\s*[-*+]\s+\[((?:[^\]\\]|\\.)*)\]\(([^)]+)\)\s*(?:[—–:-]+\s*(.*))?$/.exec(line) ?? [];
  if (target === "" || /^[a-z][a-z0-9+.-]*:|^[/#]|^\.\.\//i.test(target)) return undefined;
  const path = decodeTarget(target.replace(/^\.\//, "").replace(/#.*$/, ""));
  return path === undefined || path === indexPath ? undefined : { title, path, target, hook: hook.trim() };
}

/** `- [Title](file.md) — hook`, about `indexLineChars` long. */
export function formatPointer({ name, path, description }: IndexedMemory): string {
  const head = `- [${name.replaceAll(/[[\]\\]/g, "")}](${encodeTarget(path)})`;
  const room = Math.max(30, indexLineChars - head.length - 3);
  const hook =
    description.length <= room
      ? description
      : `${description.slice(0, safeCutIndex(description, room - 1)).trimEnd()}…`;
  return hook === "" ? head : `${head} — ${hook}`;
}

const encodeTarget = (path: string): string => path.replaceAll(/[ ()%#]/g, (char) => encodeHex(char));
const encodeHex = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;

function decodeTarget(target: string): string | undefined {
  try {
    return decodeURIComponent(target).normalize("NFC");
  } catch {
    return undefined;
  }
}

export interface CutIndex {
  readonly lines: readonly string[];
  /** One line each, for the user and the model. */
  readonly warnings: readonly string[];
}

/** The first lines of the index that go into the context. What is cut is said. */
export function cutIndex(index: string): CutIndex {
  const all = splitIndex(index.trimEnd());
  const lines: string[] = [];
  let used = 0;
  for (const line of all.slice(0, indexLinesMax)) {
    const size = Buffer.byteLength(line) + 1;
    if (used + size > indexBytesMax) break;
    used += size;
    lines.push(line);
  }
  if (lines.length === all.length) return { lines, warnings: [] };
  const why = lines.length === indexLinesMax ? `${indexLinesMax} lines` : `${indexBytesMax.toLocaleString("en")} bytes`;
  const warning =
    `${indexPath} has ${all.length} lines, of which the first ${lines.length} are shown (the limit is ${why}). ` +
    "Merge memories or shorten their lines.";
  return { lines, warnings: [warning] };
}

import type { Memory } from "../../ports/memories.ts";
import { memoryNameBytesMax, memoryPathBytesMax, memoryPathPartsMax } from "./limits.ts";

export const indexPath = "MEMORY.md";

type PathCheck =
  | { readonly kind: "path"; readonly path: string }
  /** `message`: one line that says what is wrong. */
  | { readonly kind: "wrong"; readonly message: string };

/**
 * Whether a path may stand in a memory directory. It comes back in the one form in which it is stored (NFC), so that two
 * spellings of a name are one file. Everything that could lead out, hide or collide is refused, also percent-encoded.
 */
export function checkMemoryPath(path: string): PathCheck {
  const normal = path.normalize("NFC");
  const problem = findPathProblem(normal);
  return problem === undefined
    ? { kind: "path", path: normal }
    : { kind: "wrong", message: `${JSON.stringify(path.slice(0, 100))} can't be the path of a memory: ${problem}.` };
}

function findPathProblem(path: string): string | undefined {
  const parts = path.split("/");
  if (path === "") return "it is empty";
  if (Buffer.byteLength(path) > memoryPathBytesMax) return `it is longer than ${memoryPathBytesMax} bytes`;
  if (parts.length > memoryPathPartsMax) return `it has more than ${memoryPathPartsMax} parts`;
  if (/%(?:2e|2f|5c|00|25)/i.test(path)) return "it has percent-encoded characters";
  if (/[\p{C}\p{Zl}\p{Zp}\\:*?"<>|]/u.test(path)) return "it has characters that file names can't have";
  if (parts.some((part) => part === "." || part === "..")) return "it leads out of the directory";
  if (parts.some((part) => part.startsWith("."))) return "hidden files are not memories";
  if (parts.some((part) => part.trim() === "" || part !== part.trim() || part.endsWith(".")))
    return "it has an empty part, or one that begins or ends with a space or ends with a dot";
  if (parts.some((part) => Buffer.byteLength(part) > memoryNameBytesMax))
    return `a part is longer than ${memoryNameBytesMax} bytes`;
  if (parts.includes("node_modules")) return "node_modules is not a place for memories";
  if (path !== indexPath && path.toLowerCase() === indexPath.toLowerCase()) return `the index is called ${indexPath}`;
  return undefined;
}

/** `logs/`: what was saved on which day, for a later consolidation. */
export function memoryRole(path: string): Memory["role"] {
  if (path === indexPath) return "index";
  return path.startsWith("logs/") ? "log" : "memory";
}

/** Two paths that a file system may hold as one file, or of which one would have to be a folder. */
export function findCollision(path: string, others: Iterable<string>): string | undefined {
  const folded = path.toLowerCase();
  for (const other of others) {
    if (other === path) continue;
    const otherFolded = other.toLowerCase();
    if (otherFolded === folded || otherFolded.startsWith(`${folded}/`) || folded.startsWith(`${otherFolded}/`))
      return other;
  }
  return undefined;
}

import { readFile, realpath, stat } from "node:fs/promises";
import type { InstructionReading } from "./instructions.ts";
import { instructionFileBytesMax } from "./limits.ts";

/** From the disk. What is no file, such as a folder or a pipe, is not there. */
export async function readInstruction(path: string): Promise<InstructionReading> {
  try {
    const seen = await stat(path);
    if (!seen.isFile()) return { kind: "missing" };
    if (seen.size > instructionFileBytesMax) return { kind: "too-large" };
    return { kind: "text", text: await readFile(path, "utf8"), realPath: await realpath(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // Of a word behind an `@` that could never be a path, the system is not asked at all.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "ERR_INVALID_ARG_VALUE")
      return { kind: "missing" };
    if (code === "") throw error;
    return { kind: "unreadable", why: code };
  }
}

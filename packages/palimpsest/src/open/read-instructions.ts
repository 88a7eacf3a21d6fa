import { homedir } from "node:os";
import { join } from "node:path";
import { realpath } from "node:fs/promises";
import { instructionFiles } from "../memory/instruction-files.ts";
import { instructionText } from "../memory/instruction-text.ts";
import type { Instruction } from "../memory/load-instruction-file.ts";
import { loadInstructions } from "../memory/load-instructions.ts";
import { workRoot } from "../store/files/project-place.ts";

export interface ReadInstructionsOptions {
  /** Where the program works; by default the current folder. */
  readonly cwd?: string | undefined;
  /** The user's home; by default that of the process. */
  readonly home?: string | undefined;
}

export interface ReadInstructions {
  /** For the option `system`, broad to narrow: each file under a heading with its path and scope. */
  readonly system: readonly string[];
  readonly files: readonly Instruction[];
  /** What was left out and why, one line each. */
  readonly problems: readonly string[];
}

/**
 * The instruction files of a folder, as the terminal agent finds them: the user's own, and the project's from its root down.
 * A project's files include nothing from outside of it, since there is nobody to ask.
 */
export async function readInstructions({
  cwd = process.cwd(),
  home = homedir(),
}: ReadInstructionsOptions = {}): Promise<ReadInstructions> {
  const { files, problems, asked } = await loadInstructions(instructionFiles, {
    cwd: await realpath(cwd),
    root: await workRoot(cwd),
    home,
    managedFolders: ["/etc/claude-code", "/etc/palimpsest"],
    userFolders: [join(home, ".claude"), join(home, ".palimpsest")],
    trust: "unasked",
    importAnswers: new Map(),
    excludes: [],
    foreign: [],
    named: [],
  });
  return {
    system: files.filter(({ text }) => text !== "").map((file) => instructionText(file)),
    files,
    problems: [...problems, ...asked.map(({ path }) => `${path} lies outside of the project and was left out`)],
  };
}

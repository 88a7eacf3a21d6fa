import { z } from "zod";
import { ownList, type SettingRow } from "./setting-row.ts";

/** Files that people write for other agents: GEMINI.md, .github/copilot-instructions.md, .cursor/rules. */
const foreignInstructionNames = ["gemini", "copilot", "cursor"] as const;
export type ForeignInstructions = (typeof foreignInstructionNames)[number];

export interface InstructionSettings {
  readonly instructions: readonly string[];
  readonly claudeMdExcludes: readonly string[];
  readonly foreignInstructions: readonly ForeignInstructions[];
  readonly allowedImports: readonly string[];
  readonly refusedImports: readonly string[];
}

/** The settings about instruction files. */
export const instructionRows: {
  readonly [Name in keyof InstructionSettings]: SettingRow<InstructionSettings[Name]>;
} = {
  instructions: {
    shape: z.string().min(1),
    expects: "a list of files, patterns of files and https addresses",
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "none",
    environment: [],
    byProject: "nothing",
    about:
      "Instructions to read besides the usual files; scopes add up. Paths start from the project's root, ~/ or /. See instructions.md.",
    basis: "ours",
  },
  claudeMdExcludes: {
    shape: z.string().min(1),
    expects: "a list of patterns of absolute paths",
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "none",
    environment: [],
    byProject: "nothing",
    about: "Instruction files that are left out; scopes add up. Managed files can't be left out.",
    basis: "published",
  },
  foreignInstructions: {
    shape: z.enum(foreignInstructionNames),
    expects: `a list of ${foreignInstructionNames.join(", ")}`,
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "none",
    environment: [],
    byProject: "nothing",
    about: "Files for other agents that count too: GEMINI.md, .github/copilot-instructions.md, .cursor/rules.",
    basis: "ours",
  },
  allowedImports: ownList({
    shape: z.string().min(1),
    expects: "a list of files, from the root or from ~/",
    about:
      "Files that instructions may include although they lie outside of the project; under projects, for one of them. Only in your own file.",
  }),
  refusedImports: ownList({
    shape: z.string().min(1),
    expects: "a list of files, from the root or from ~/",
    about: "Such files that you refused; you are not asked about them again. Only in your own file.",
  }),
};

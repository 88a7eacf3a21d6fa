import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tool";
import { defineTool, toolError, wrongCall } from "./define-tool.ts";

export interface MemoryToolDeps {
  /** Must not reject. */
  readonly run: (command: MemoryCommandInput) => Promise<MemoryAnswer>;
}

export interface MemoryAnswer {
  readonly text: string;
  readonly isError: boolean;
}

export const memoryToolName = "memory";

const commands = ["view", "create", "str_replace", "insert", "delete", "rename"] as const;

const input = z.strictObject({
  command: z.enum(commands),
  path: z.string().min(1).optional().describe("/memories or a file in it; all but rename."),
  view_range: z.array(z.int()).length(2).optional().describe("view: first and last line, -1 to the end."),
  file_text: z.string().optional().describe("create"),
  old_str: z.string().optional().describe("str_replace: must occur once."),
  new_str: z.string().optional().describe("str_replace"),
  insert_line: z.int().optional().describe("insert: behind this line, 0 for the start."),
  insert_text: z.string().optional().describe("insert"),
  old_path: z.string().min(1).optional().describe("rename"),
  new_path: z.string().min(1).optional().describe("rename"),
});

export type MemoryCommandInput = z.infer<typeof input>;

/** What each command needs; `view_range` and `new_str` may always be left out. */
const neededByCommand: { readonly [Command in (typeof commands)[number]]: readonly (keyof MemoryCommandInput)[] } = {
  view: ["path"],
  create: ["path", "file_text"],
  str_replace: ["path", "old_str"],
  insert: ["path", "insert_line", "insert_text"],
  delete: ["path"],
  rename: ["old_path", "new_path"],
};

/**
 * The commands of the Messages API's memory tool, defined as a function of our own: it works with every provider, and the
 * API adds no instruction to look at the directory before anything else, which the index in the system prompt spares.
 */
export const memoryTool = ({ run }: MemoryToolDeps): Tool =>
  defineTool({
    name: memoryToolName,
    description: "Look at and change your memory, the files under /memories that outlast this session.",
    input,
    effect: "write",
    plan: async (command) => {
      const missing = neededByCommand[command.command].filter((field) => command[field] === undefined);
      if (missing.length > 0) return wrongCall(`${memoryToolName}: ${command.command} needs ${missing.join(" and ")}`);
      return {
        kind: "ready",
        acts: command.command === "view" ? [] : [{ kind: "state", what: memoryToolName }],
        run: async () => {
          const { text, isError } = await run(command);
          const where = command.path ?? `${command.old_path} → ${command.new_path}`;
          return isError ? toolError(text) : { content: text, summary: `${command.command} ${where}` };
        },
      };
    },
  });

/** Keeps the tool defined, so that no byte of the prefix changes. */
export const refuseMemory = (why: string): MemoryToolDeps => ({ run: async () => ({ text: why, isError: true }) });

export const forkRefusal = "Only the conversation itself reads and writes its memory.";
export const memoryOffRefusal = "Memory has been turned off.";

import type { CompactionAsks } from "../ports/compaction-asks.ts";
import type { Tool } from "../ports/tools.ts";
import { compactTool } from "./compact.ts";
import { editTool } from "./file/edit.ts";
import { type ReadDeps, readTool } from "./file/read.ts";
import { writeTool } from "./file/write.ts";
import { type RecallDeps, recallTool } from "./recall.ts";
import { globTool } from "./search/glob.ts";
import { grepTool, type SearchDeps } from "./search/grep.ts";
import { type BashDeps, bashTool } from "./shell/bash.ts";
import { type TodoDeps, todoTool } from "./todo.ts";

export type ToolsetDeps = ReadDeps & SearchDeps & BashDeps & TodoDeps & RecallDeps & AskingDeps;

interface AskingDeps {
  /** Absent where the agent can't ask for compaction: then there is no tool for it, and no bytes of one. */
  readonly compactionAsks?: CompactionAsks | undefined;
}

/** All there can be, in the order of `builtinTools`. */
export const toolNames = ["read", "write", "edit", "bash", "grep", "glob", "todo", "recall", "compact"] as const;

/** In a fixed order: definitions are the first bytes of every request, and a cached prefix is only the same bytes. */
export const builtinTools = (deps: ToolsetDeps): readonly Tool[] => [
  readTool(deps),
  writeTool(),
  editTool(),
  bashTool(deps),
  grepTool(deps),
  globTool(deps),
  todoTool(deps),
  recallTool(deps),
  ...(deps.compactionAsks === undefined ? [] : [compactTool({ compactionAsks: deps.compactionAsks })]),
];

import type { Tool } from "../ports/tools.ts";
import { editTool } from "./file/edit.ts";
import { type ReadDeps, readTool } from "./file/read.ts";
import { writeTool } from "./file/write.ts";
import { type RecallDeps, recallTool } from "./recall.ts";
import { globTool } from "./search/glob.ts";
import { grepTool, type SearchDeps } from "./search/grep.ts";
import { type BashDeps, bashTool } from "./shell/bash.ts";
import { type TodoDeps, todoTool } from "./todo.ts";

export type ToolsetDeps = ReadDeps & SearchDeps & BashDeps & TodoDeps & RecallDeps;

/** In the order of `builtinTools`. */
export const toolNames = ["read", "write", "edit", "bash", "grep", "glob", "todo", "recall"] as const;

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
];

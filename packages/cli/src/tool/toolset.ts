import type { CompactionAsks } from "palimpsest/internal/ports/compaction-asks";
import type { Person } from "palimpsest/internal/ports/person";
import type { Planning } from "palimpsest/internal/ports/planning";
import type { Tool } from "palimpsest/internal/ports/tools";
import { askUserTool } from "./ask-user.ts";
import { compactTool } from "./compact.ts";
import { editTool } from "./file/edit.ts";
import { type ReadDeps, readTool } from "./file/read.ts";
import { writeTool } from "./file/write.ts";
import type { ToolServers } from "./mcp/servers.ts";
import { toolSearchTool, useToolTool } from "./mcp/tools.ts";
import { planTool } from "./plan/plan.ts";
import { type RecallDeps, recallTool } from "./recall.ts";
import { globTool } from "./search/glob.ts";
import { grepTool, type SearchDeps } from "./search/grep.ts";
import { type BashDeps, bashTool } from "./shell/bash.ts";
import { bashKillTool, bashOutputTool } from "./shell/job-tools.ts";
import { type Skills, skillTool } from "./skill/skill.ts";
import { type TodoDeps, todoTool } from "./todo.ts";
import { type Web, webFetchTool } from "./web/fetch.ts";

export type ToolsetDeps = ReadDeps & SearchDeps & BashDeps & TodoDeps & RecallDeps & AskingDeps;

interface AskingDeps {
  /** Absent where the agent can't ask for compaction: then there is no tool for it, and no bytes of one. */
  readonly compactionAsks?: CompactionAsks | undefined;
  /** Likewise: absent where there are none. */
  readonly skills?: Skills | undefined;
  /** Likewise: absent where nobody can look at a plan. */
  readonly planning?: Planning | undefined;
  /** Likewise: absent where no server of tools may be started. */
  readonly servers?: ToolServers | undefined;
  /** Likewise: absent where the net is not to be reached. */
  readonly web?: Web | undefined;
  /** Likewise: absent where there is nobody to ask. */
  readonly person?: Person | undefined;
}

/** All there can be, in the order of `builtinTools`. */
export const toolNames = [
  "read",
  "write",
  "edit",
  "bash",
  "grep",
  "glob",
  "todo",
  "recall",
  "compact",
  "skill",
  "plan",
  "web_fetch",
  "ask_user",
  "bash_output",
  "bash_kill",
  "tool_search",
  "use_tool",
] as const;

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
  ...(deps.skills === undefined ? [] : [skillTool({ skills: deps.skills })]),
  ...(deps.planning === undefined ? [] : [planTool({ planning: deps.planning })]),
  ...(deps.web === undefined ? [] : [webFetchTool({ web: deps.web })]),
  ...(deps.person === undefined ? [] : [askUserTool({ person: deps.person })]),
  ...(deps.jobs === undefined ? [] : [bashOutputTool({ jobs: deps.jobs }), bashKillTool({ jobs: deps.jobs })]),
  ...(deps.servers === undefined
    ? []
    : [toolSearchTool({ servers: deps.servers }), useToolTool({ servers: deps.servers })]),
];

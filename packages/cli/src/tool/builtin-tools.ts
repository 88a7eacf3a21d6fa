import { type CompactionRequests, compactToolName } from "palimpsest/internal/ports/compaction-requests";
import type { UserPort } from "palimpsest/internal/ports/user-port";
import type { PlanMode } from "palimpsest/internal/ports/plan-mode";
import type { Tool } from "palimpsest/internal/ports/tool";
import { askUserTool } from "./ask-user-tool.ts";
import { editTool } from "./file/edit-tool.ts";
import { type ReadDeps, readTool } from "./file/read-tool.ts";
import { writeTool } from "./file/write-tool.ts";
import type { ToolServers } from "./mcp/tool-servers.ts";
import { toolSearchTool, useToolTool } from "./mcp/tool-search-tool.ts";
import { type MemoryToolDeps, memoryTool } from "./memory-tool.ts";
import { planTool } from "./plan-tool.ts";
import { type RecallDeps, recallTool } from "./recall-tool.ts";
import { globTool } from "./search/glob-tool.ts";
import { grepTool, type SearchDeps } from "./search/grep-tool.ts";
import { type BashDeps, bashTool } from "./shell/bash-tool.ts";
import { bashKillTool, bashOutputTool } from "./shell/job-tools.ts";
import { type Skills, skillTool } from "./skill/skill-tool.ts";
import { type MessageSender, sendMessageTool } from "./send-message-tool.ts";
import { type TeamTasks, taskTool } from "./task-tool.ts";
import { type TeamControl, teamTool } from "./team-tool.ts";
import { type TodoDeps, todoTool } from "./todo-tool.ts";
import { type Web, webFetchTool } from "./web/web-fetch-tool.ts";
import { z } from "zod";
import { type AgentToolDeps, agentTool } from "./agent-tool.ts";
import { defineTool, toolError } from "./define-tool.ts";
import { compactNoteCharsMax } from "./limits.ts";

export type ToolsetDeps = ReadDeps & SearchDeps & BashDeps & TodoDeps & RecallDeps & OptionalToolDeps;

interface OptionalToolDeps {
  /** Absent if the agent can't request compaction: then the tool is not defined and costs no bytes. */
  readonly compactionRequests?: CompactionRequests | undefined;
  /** Absent if the agent has no memory. */
  readonly memory?: MemoryToolDeps | undefined;
  /** Absent if there are no skills. */
  readonly skills?: Skills | undefined;
  /** Absent if no user can review a plan. */
  readonly planning?: PlanMode | undefined;
  /** Absent if no tool server may be started. */
  readonly servers?: ToolServers | undefined;
  /** Absent if the network must not be used. */
  readonly web?: Web | undefined;
  /** Absent if there is no user to ask. */
  readonly user?: UserPort | undefined;
  /** Absent if no agent may be started. */
  readonly agents?: AgentToolDeps | undefined;
  /** Absent if the session has no other agents to talk to. */
  readonly messages?: MessageSender | undefined;
  /** Absent if the session is in no team. */
  readonly teamTasks?: TeamTasks | undefined;
  /** Absent if the session leads no team. */
  readonly team?: TeamControl | undefined;
}

/** The names of all tools that may exist, in the order of `builtinTools`. */
export const toolNames = [
  "read",
  "write",
  "edit",
  "bash",
  "grep",
  "glob",
  "todo",
  "recall",
  "memory",
  "compact",
  "skill",
  "plan",
  "web_fetch",
  "ask_user",
  "bash_output",
  "bash_kill",
  "tool_search",
  "use_tool",
  "agent",
  "send_message",
  "task",
  "team",
] as const;

/**
 * In a fixed order: definitions are the first bytes of every request, and the cache needs the same prefix each time.
 */
export const builtinTools = (deps: ToolsetDeps): readonly Tool[] => [
  readTool(deps),
  writeTool(),
  editTool(),
  bashTool(deps),
  grepTool(deps),
  globTool(deps),
  todoTool(deps),
  recallTool(deps),
  ...(deps.memory === undefined ? [] : [memoryTool(deps.memory)]),
  ...(deps.compactionRequests === undefined ? [] : [compactTool({ compactionRequests: deps.compactionRequests })]),
  ...(deps.skills === undefined ? [] : [skillTool({ skills: deps.skills })]),
  ...(deps.planning === undefined ? [] : [planTool({ planning: deps.planning })]),
  ...(deps.web === undefined ? [] : [webFetchTool({ web: deps.web })]),
  ...(deps.user === undefined ? [] : [askUserTool({ user: deps.user })]),
  ...(deps.jobs === undefined ? [] : [bashOutputTool({ jobs: deps.jobs }), bashKillTool({ jobs: deps.jobs })]),
  ...(deps.servers === undefined
    ? []
    : [toolSearchTool({ servers: deps.servers }), useToolTool({ servers: deps.servers })]),
  ...(deps.agents === undefined ? [] : [agentTool(deps.agents)]),
  ...(deps.messages === undefined ? [] : [sendMessageTool({ messages: deps.messages })]),
  ...(deps.teamTasks === undefined ? [] : [taskTool({ teamTasks: deps.teamTasks })]),
  ...(deps.team === undefined ? [] : [teamTool({ team: deps.team })]),
];

const input = z.strictObject({
  note: z
    .string()
    .trim()
    .min(1)
    .max(compactNoteCharsMax)
    .describe(
      `To yourself, at most ${compactNoteCharsMax} characters: where you stand, what comes next, what must not be forgotten.`,
    ),
});

/** Only records the request: the conversation can't be compacted while a call runs. */
export const compactTool = ({ compactionRequests }: { readonly compactionRequests: CompactionRequests }): Tool =>
  defineTool({
    name: compactToolName,
    description:
      "Have the conversation so far replaced by a summary, before your next reply. Call it alone, when a piece of work is done and its details are no longer needed. Your note stands word for word behind the summary.",
    input,
    effect: "write",
    plan: async ({ note }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: "compaction" }],
      run: async () => {
        const outcome = compactionRequests.request(note);
        switch (outcome.kind) {
          case "taken":
            return { content: acceptedText, summary: "compaction asked for" };
          case "refused":
            return toolError(outcome.why);
        }
      },
    }),
  });

const acceptedText =
  "Compaction comes before the next request; this note, in place of any earlier one, will stand behind the summary.";

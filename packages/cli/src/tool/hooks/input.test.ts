import { expect, it } from "vitest";
import type { HookPayload } from "palimpsest/internal/ports/hooks";
import { sessionId, toolUseId } from "palimpsest/internal/schema/brand";
import { hookEventNames } from "palimpsest/internal/schema/hook";
import { toHookInput } from "./create-hooks.ts";

const place = { session: sessionId("s1"), transcriptPath: "/t.jsonl", cwd: "/app" };
const common = { session_id: "s1", transcript_path: "/t.jsonl", cwd: "/app" };
const toolUse = toolUseId("t1");

/** Scripts of other people read these names: none may change. */
const table: readonly (readonly [HookPayload, object])[] = [
  [
    { name: "SessionStart", source: "fork", model: "m" },
    { source: "fork", model: "m" },
  ],
  [{ name: "SessionEnd", reason: "prompt_input_exit" }, { reason: "prompt_input_exit" }],
  [{ name: "UserPromptSubmit", prompt: "p" }, { prompt: "p" }],
  [
    { name: "PreToolUse", tool: "todo", input: { a: 1 }, toolUse },
    { tool_name: "TodoWrite", tool_input: { a: 1 }, tool_use_id: "t1" },
  ],
  [
    { name: "PostToolUse", tool: "mcp__x__y", input: {}, toolUse, response: ["r"] },
    { tool_name: "mcp__x__y", tool_input: {}, tool_response: ["r"], tool_use_id: "t1" },
  ],
  [
    { name: "PermissionRequest", tool: "write", input: { file_path: "/x" } },
    { tool_name: "Write", tool_input: { file_path: "/x" } },
  ],
  [
    { name: "Notification", type: "idle_prompt", message: "m", title: "t" },
    { notification_type: "idle_prompt", message: "m", title: "t" },
  ],
  [
    { name: "Stop", again: true, lastText: "done" },
    { stop_hook_active: true, last_assistant_message: "done" },
  ],
  [
    { name: "SubagentStart", agentId: "a", agentType: "explore" },
    { agent_id: "a", agent_type: "explore" },
  ],
  [
    { name: "SubagentStop", agentId: "a", agentType: "explore", again: false, agentTranscriptPath: "/a.jsonl" },
    { agent_id: "a", agent_type: "explore", stop_hook_active: false, agent_transcript_path: "/a.jsonl" },
  ],
  [
    { name: "PreCompact", trigger: "manual", instructions: "keep x" },
    { trigger: "manual", custom_instructions: "keep x" },
  ],
  [
    { name: "PostCompact", trigger: "auto", summary: "s", receipt: { kept: 1 } },
    { trigger: "auto", compact_summary: "s", receipt: { kept: 1 } },
  ],
  [
    { name: "InstructionsLoaded", path: "/a.md", memoryType: "Project", reason: "include", parentPath: "/b.md" },
    { file_path: "/a.md", memory_type: "Project", load_reason: "include", parent_file_path: "/b.md" },
  ],
];

it.each(table)("%j", (moment, fields) => {
  expect(toHookInput({ ...place, ...moment })).toEqual({ ...common, hook_event_name: moment.name, ...fields });
});

it("no event is forgotten", () => {
  expect(new Set(table.map(([{ name }]) => name))).toEqual(new Set(hookEventNames));
});

it("the permission mode and the agent stand where there are any", () => {
  const event = { ...place, permissionMode: "plan", agent: { id: "a", type: "explore" } };
  expect(toHookInput({ ...event, name: "UserPromptSubmit", prompt: "p" })).toEqual({
    ...common,
    permission_mode: "plan",
    agent_id: "a",
    agent_type: "explore",
    hook_event_name: "UserPromptSubmit",
    prompt: "p",
  });
});

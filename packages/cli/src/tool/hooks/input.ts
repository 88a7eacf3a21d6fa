import type { HookEvent, HookMoment } from "palimpsest/internal/ports/hooks";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { publicToolName } from "./event-rules.ts";

/** What a command reads from its standard input: the ecosystem's fields, so that people's scripts find them. */
export const hookInput = (event: HookEvent): JsonObject => ({
  session_id: event.session,
  ...given("transcript_path", event.transcriptPath),
  cwd: event.cwd,
  ...(event.permissionMode === undefined ? {} : { permission_mode: event.permissionMode }),
  ...(event.agent === undefined ? {} : { agent_id: event.agent.id, agent_type: event.agent.type }),
  hook_event_name: event.name,
  ...fieldsOf(event),
});

function fieldsOf(event: HookMoment): JsonObject {
  switch (event.name) {
    case "SessionStart":
      return { source: event.source, ...given("model", event.model) };
    case "SessionEnd":
      return { reason: event.reason };
    case "UserPromptSubmit":
      return { prompt: event.prompt };
    case "PreToolUse":
      return { tool_name: publicToolName(event.tool), tool_input: event.input, tool_use_id: event.toolUse };
    case "PostToolUse":
      return {
        tool_name: publicToolName(event.tool),
        tool_input: event.input,
        tool_response: event.response,
        tool_use_id: event.toolUse,
      };
    case "PermissionRequest":
      return { tool_name: publicToolName(event.tool), tool_input: event.input };
    case "Notification":
      return { message: event.message, notification_type: event.type, ...given("title", event.title) };
    case "Stop":
      return { stop_hook_active: event.again, ...given("last_assistant_message", event.lastText) };
    case "SubagentStart":
      return { agent_id: event.agentId, agent_type: event.agentType };
    case "SubagentStop":
      return {
        stop_hook_active: event.again,
        agent_id: event.agentId,
        agent_type: event.agentType,
        agent_transcript_path: event.agentTranscriptPath,
        ...given("last_assistant_message", event.lastText),
      };
    case "PreCompact":
      return { trigger: event.trigger, custom_instructions: event.instructions };
    case "PostCompact":
      return { trigger: event.trigger, compact_summary: event.summary, ...given("receipt", event.receipt) };
    case "InstructionsLoaded":
      return {
        file_path: event.path,
        memory_type: event.memoryType,
        load_reason: event.reason,
        ...given("parent_file_path", event.parentPath),
      };
  }
}

const given = (key: string, value: string | JsonObject | undefined): JsonObject =>
  value === undefined ? {} : { [key]: value };

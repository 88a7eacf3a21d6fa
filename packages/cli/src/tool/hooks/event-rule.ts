import type { HookEvent } from "palimpsest/internal/ports/hooks";
import type { Millis } from "palimpsest/internal/schema/brand";
import type { HookEventName } from "palimpsest/internal/schema/hook";
import { hookTimeoutMs, sessionEndTimeoutMs } from "./limits.ts";

/** What the hooks of an event can do. */
interface EventRule {
  /**
   * `before`: blocking prevents what the event announces. `after`: it has already happened; the model is told and goes
   * on.
   */
  readonly block: "before" | "after" | "impossible";
  /** Whether `continue: false` ends the turn. */
  readonly stop: "possible" | "impossible";
  /**
   * What reaches the model: `printed`, also a command's output without JSON; `said`, only what its JSON names as
   * context.
   */
  readonly context: "printed" | "said" | "none";
  readonly timeoutMs: Millis;
}

const eventRule = (block: EventRule["block"], context: EventRule["context"]): EventRule => ({
  block,
  stop: "possible",
  context,
  timeoutMs: hookTimeoutMs,
});

export const ruleByEvent: { readonly [Name in HookEventName]: EventRule } = {
  SessionStart: eventRule("impossible", "printed"),
  SessionEnd: { ...eventRule("impossible", "none"), stop: "impossible", timeoutMs: sessionEndTimeoutMs },
  UserPromptSubmit: eventRule("before", "printed"),
  PreToolUse: eventRule("before", "said"),
  PostToolUse: eventRule("after", "said"),
  PermissionRequest: eventRule("before", "none"),
  Notification: { ...eventRule("impossible", "none"), stop: "impossible" },
  Stop: eventRule("after", "none"),
  SubagentStart: eventRule("impossible", "said"),
  SubagentStop: eventRule("after", "none"),
  PreCompact: { ...eventRule("before", "printed"), stop: "impossible" },
  PostCompact: { ...eventRule("impossible", "none"), stop: "impossible" },
  InstructionsLoaded: { ...eventRule("impossible", "none"), stop: "impossible" },
};

/** What a matcher is compared with; undefined if the event has only one kind, so that every matcher fits. */
export function matcherNames(event: HookEvent): readonly string[] | undefined {
  switch (event.name) {
    case "PreToolUse":
    case "PostToolUse":
    case "PermissionRequest":
      return [...new Set([event.tool, publicToolName(event.tool)])];
    case "SessionStart":
      return [event.source];
    case "SessionEnd":
    case "InstructionsLoaded":
      return [event.reason];
    case "Notification":
      return [event.type];
    case "PreCompact":
    case "PostCompact":
      return [event.trigger];
    case "SubagentStart":
    case "SubagentStop":
      return [event.agentType];
    case "UserPromptSubmit":
    case "Stop":
      return undefined;
  }
}

/** The name by which users' matchers and scripts know a tool; a tool that only we have keeps its own. */
export const publicToolName = (tool: string): string => publicNameByTool.get(tool) ?? tool;

const publicNameByTool: ReadonlyMap<string, string> = new Map([
  ["read", "Read"],
  ["write", "Write"],
  ["edit", "Edit"],
  ["bash", "Bash"],
  ["grep", "Grep"],
  ["glob", "Glob"],
  ["todo", "TodoWrite"],
  ["web_fetch", "WebFetch"],
  ["agent", "Task"],
]);

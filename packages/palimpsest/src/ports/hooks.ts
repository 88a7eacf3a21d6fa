import type { SessionId, ToolUseId } from "../schema/brand.ts";
import type { HookAnswer, HookEventName } from "../schema/hook.ts";
import type { Json, JsonObject } from "../schema/json.ts";

/** The user's hooks: they are notified of events and can influence some of them. */
export interface Hooks {
  /**
   * Runs all hooks of this event concurrently, each with a time limit. Must not reject and must not hang: a hook that
   * fails becomes a warning. If aborted, an event that a hook could still have blocked counts as blocked.
   */
  fire(event: HookEvent, signal: AbortSignal): Promise<HookOutcome>;
}

/** For sessions without hooks. */
export const noHooks: Hooks = { fire: async () => ({ context: [], messages: [], warnings: [] }) };

export interface HooksDep {
  readonly hooks: Hooks;
}

/** Location and state of the session when the event fires. */
export interface HookContext {
  readonly session: SessionId;
  /** A path or an address; absent if the store has none. */
  readonly transcriptPath?: string;
  readonly cwd: string;
  /** Under the ecosystem's names: `default`, `acceptEdits`, `plan`, `bypassPermissions`. */
  readonly permissionMode?: string;
  /** Set for events of a sub-agent. */
  readonly agent?: { readonly id: string; readonly type: string };
}

export type HookEvent = HookContext & HookPayload;
export type HookEventOf<Name extends HookEventName> = HookContext & Extract<HookPayload, { readonly name: Name }>;

/** Tools have our names here, not the ecosystem's. */
export type HookPayload =
  | {
      readonly name: "SessionStart";
      readonly source: "startup" | "resume" | "clear" | "compact" | "fork";
      readonly model?: string;
    }
  | {
      readonly name: "SessionEnd";
      readonly reason: "clear" | "resume" | "logout" | "prompt_input_exit" | "other";
    }
  | { readonly name: "UserPromptSubmit"; readonly prompt: string }
  | {
      readonly name: "PreToolUse";
      readonly tool: string;
      readonly input: JsonObject;
      readonly toolUse: ToolUseId;
    }
  | {
      readonly name: "PostToolUse";
      readonly tool: string;
      readonly input: JsonObject;
      readonly toolUse: ToolUseId;
      readonly response: Json;
    }
  /** The user is about to be asked. */
  | { readonly name: "PermissionRequest"; readonly tool: string; readonly input: JsonObject }
  | { readonly name: "Notification"; readonly type: string; readonly message: string; readonly title?: string }
  /**
   * `again`: a hook has already made the model continue in this turn; a hook that ignores this could keep the turn from
   * ever ending.
   */
  | { readonly name: "Stop"; readonly again: boolean; readonly lastText?: string }
  | { readonly name: "SubagentStart"; readonly agentId: string; readonly agentType: string }
  | {
      readonly name: "SubagentStop";
      readonly agentId: string;
      readonly agentType: string;
      readonly again: boolean;
      readonly agentTranscriptPath: string;
      readonly lastText?: string;
    }
  | { readonly name: "PreCompact"; readonly trigger: "manual" | "auto"; readonly instructions: string }
  | {
      readonly name: "PostCompact";
      readonly trigger: "manual" | "auto";
      readonly summary: string;
      readonly receipt?: JsonObject;
    }
  | {
      readonly name: "InstructionsLoaded";
      readonly path: string;
      readonly memoryType: "User" | "Project" | "Local" | "Managed";
      readonly reason: "session_start" | "nested_traversal" | "path_glob_match" | "include" | "compact";
      readonly parentPath?: string;
      /** The file that the agent read or changed. */
      readonly triggerPath?: string;
      /** The patterns of a rule. */
      readonly globs?: readonly string[];
    };

/**
 * The combined answers of all hooks of one event. Texts are in the order of the settings, whichever hook was faster.
 *
 *   blocked             what it means, by event
 *   UserPromptSubmit    the message is not sent; the user is told why
 *   PreToolUse          the call does not run; the model is told why
 *   PermissionRequest   denied; the model is told why
 *   PostToolUse         the call has run; the model is told why in addition to the result
 *   Stop, SubagentStop  the model continues, with the reason as its task
 *   PreCompact          no compaction
 *
 * Other events can't be blocked: a hook that tries causes a warning.
 */
export interface HookOutcome {
  readonly blocked?: { readonly reason: string };
  /** The turn ends here, whatever the other hooks answered. */
  readonly stopped?: { readonly reason: string };
  /** Shown to the model after the event; for PreCompact: additional instructions. */
  readonly context: readonly string[];
  /** If hooks disagree, `ask` wins. Never set together with `blocked`. */
  readonly permission?: "allow" | "ask";
  /** If several hooks set it, the last one wins. */
  readonly updatedInput?: JsonObject;
  /** From the hooks, for the user. */
  readonly messages: readonly string[];
  /** About the hooks, for the user. */
  readonly warnings: readonly string[];
}

/**
 * The same events as callbacks for users of the library. A callback that throws or rejects causes a warning. `signal`
 * is aborted at the time limit; later answers are ignored. A callback that blocks the thread can't be stopped.
 */
export type HookCallbacks = {
  readonly [Name in HookEventName]?: (
    event: HookEventOf<Name>,
    signal: AbortSignal,
  ) => HookAnswer | void | Promise<HookAnswer | void>;
};

import type { SessionId, ToolUseId } from "../schema/brand.ts";
import type { HookAnswer, HookEventName } from "../schema/hook.ts";
import type { Json, JsonObject } from "../schema/json.ts";

/** What people have asked to be told of, and may have a say in. */
export interface Hooks {
  /**
   * Runs everything that waits for this event, all at once, each with a time limit. Must not reject and must not hang:
   * a hook that fails is a warning. Aborted, what a hook could still have kept from happening is blocked.
   */
  fire(event: HookEvent, signal: AbortSignal): Promise<HookOutcome>;
}

/** Of who has none. */
export const noHooks: Hooks = { fire: async () => ({ context: [], messages: [], warnings: [] }) };

export interface HooksDep {
  readonly hooks: Hooks;
}

/** Where and in which state the session is at that moment. */
export interface HookContext {
  readonly session: SessionId;
  /** A path or an address; absent if the store has none. */
  readonly transcriptPath?: string;
  readonly cwd: string;
  /** Under the ecosystem's names: `default`, `acceptEdits`, `plan`, `bypassPermissions`. */
  readonly permissionMode?: string;
  /** Of a sub-agent's own events. */
  readonly agent?: { readonly id: string; readonly type: string };
}

export type HookEvent = HookContext & HookPayload;
export type HookEventOf<Name extends HookEventName> = HookContext & Extract<HookPayload, { readonly name: Name }>;

/** Tools under our names. */
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
  /** A person is about to be asked. */
  | { readonly name: "PermissionRequest"; readonly tool: string; readonly input: JsonObject }
  | { readonly name: "Notification"; readonly type: string; readonly message: string; readonly title?: string }
  /** `again`: a hook has already made the model go on in this turn; one that always does would never let it end. */
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
    };

/**
 * What all hooks of one event say together. Texts stand in the order of the settings, whichever hook was faster.
 *
 *   blocked             what it means, by event
 *   UserPromptSubmit    the message is not sent; the person is told why
 *   PreToolUse          the call does not run; the model is told why
 *   PermissionRequest   denied; the model is told why
 *   PostToolUse         the call has run; the model is told why besides the result
 *   Stop, SubagentStop  the model goes on, with the reason as its task
 *   PreCompact          no compaction
 *
 * Other events can't be blocked: there a hook that tries is a warning.
 */
export interface HookOutcome {
  readonly blocked?: { readonly reason: string };
  /** The turn ends here, whatever else was said. */
  readonly stopped?: { readonly reason: string };
  /** For the model, after the event; of PreCompact: further instructions. */
  readonly context: readonly string[];
  /** Of several, `ask` counts. Never set where `blocked` is. */
  readonly permission?: "allow" | "ask";
  /** Of several, the last one's. */
  readonly updatedInput?: JsonObject;
  /** For the person, from the hooks. */
  readonly messages: readonly string[];
  /** For the person, about the hooks. */
  readonly warnings: readonly string[];
}

/**
 * The same events for users of the library. May throw or reject: that is a warning. `signal` is aborted at the time
 * limit; what is answered later counts for nothing. A function that never lets go of the thread can't be stopped.
 */
export type HookCallbacks = {
  readonly [Name in HookEventName]?: (
    event: HookEventOf<Name>,
    signal: AbortSignal,
  ) => HookAnswer | void | Promise<HookAnswer | void>;
};

/**
 * The SDK's types, as far as the adapter implements or reads them. They are written out, because the SDK comes with 355 MB
 * of Claude Code. test/long/claude-agent-sdk.test.ts compiles them against the SDK's own.
 */
export interface SdkSessionStore {
  append(key: SdkSessionKey, entries: readonly SdkEntry[]): Promise<void>;
  load(key: SdkSessionKey): Promise<SdkEntry[] | null>;
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  delete(key: SdkSessionKey): Promise<void>;
}

export interface SdkSessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** A sub-agent's transcript. Absent: the session's own. */
  readonly subpath?: string | undefined;
}

/** A line of a transcript in Claude Code's format, which is the ecosystem's. */
export type SdkEntry = {
  type: string;
  uuid?: string;
  timestamp?: string;
  [key: string]: unknown;
};

export interface SdkHooks {
  PreCompact: SdkHookMatcher[];
  SessionStart: SdkHookMatcher[];
}

interface SdkHookMatcher {
  hooks: ((input: object) => Promise<SdkHookOutput>)[];
}

interface SdkHookOutput {
  hookSpecificOutput?: { hookEventName: "SessionStart"; additionalContext: string };
}

/** The conversations that the gateway knows. */
export interface GatewayState {
  /** Newest first. With a user: only that user's. */
  conversations(filter: { readonly user?: string | undefined }): readonly ConversationRow[];
  /** Closes a conversation that no request uses now, so that another program can edit its session. */
  release?(id: string): Promise<ReleaseOutcome>;
  /** Sessions were deleted: resolves when nothing of them is kept any more, in memory or on disk. */
  forget?(ids: readonly string[]): Promise<ForgetOutcome>;
}

/** `running`: a reply of one of them is on its way and would be stored again, so nothing was removed. */
export type ForgetOutcome = "forgotten" | "running";

/** `running`: a reply is on its way, so that it stays active. */
export type ReleaseOutcome = "released" | "running" | "not-active";

export interface ConversationRow {
  readonly id: string;
  readonly user: string;
  /** Such as `claude-code`; undefined if it is not recognised. */
  readonly client?: string | undefined;
  /** The project's folder or name. */
  readonly project?: string | undefined;
  readonly model: string;
  readonly requests: number;
  /** Tokens of the client's original requests: those used, and an estimate of those left out. */
  readonly inputTokensSent: number;
  /** What went upstream, as its replies say. */
  readonly inputTokensUsed: number;
  /**
   * Estimates how much more the client's original requests would have cost. Negative if edits cost more than they saved.
   * Null if the model has no known price.
   */
  readonly savedUsd: number | null;
  /** Edits by the engine. Those caused by the client's own rewinds don't count. */
  readonly edits: number;
  /** The client's largest request, as a share of the model's window: 0.12 is 12 %. */
  readonly windowShareMax: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
  /** The figures count from here on: the conversation's first request since the gateway was started. */
  readonly since: number;
}

export interface Savings {
  /** Null if it is known of none of them. */
  readonly savedUsd: number | null;
  /** Conversations of which it is not known. */
  readonly savedUnknown: number;
}

export function sumSavings(rows: readonly Pick<ConversationRow, "savedUsd">[]): Savings {
  const known = rows.flatMap(({ savedUsd }) => (savedUsd === null ? [] : [savedUsd]));
  const savedUsd = known.length === 0 && rows.length > 0 ? null : known.reduce((sum, usd) => sum + usd, 0);
  return { savedUsd, savedUnknown: rows.length - known.length };
}

/** Before conversations are kept. */
export const noConversations: GatewayState = { conversations: () => [] };

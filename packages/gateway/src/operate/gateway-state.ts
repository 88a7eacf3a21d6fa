/** What is known about the conversations that pass the gateway. */
export interface GatewayState {
  /** Newest first. With a user: only that user's. */
  conversations(filter: { readonly user?: string | undefined }): readonly ConversationRow[];
}

export interface ConversationRow {
  readonly id: string;
  readonly user: string;
  /** Such as `claude-code`; undefined if it is not recognised. */
  readonly client?: string | undefined;
  /** The project's folder or name. */
  readonly project?: string | undefined;
  readonly model: string;
  readonly requests: number;
  /** What the client sent, in tokens, over all requests: what was used, and an estimate of what was left out. */
  readonly inputTokensSent: number;
  /** What went upstream, as its replies say. */
  readonly inputTokensUsed: number;
  /** An estimate: what the client's own requests would have cost more. Below 0 if edits cost more than they saved. */
  readonly savedUsd: number;
  readonly edits: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

/** Before conversations are kept. */
export const noConversations: GatewayState = { conversations: () => [] };

import type { Conversation } from "./conversation.ts";
import type { RoundsDeps } from "./deps.ts";
import type { Session, SessionDeps } from "../session/session.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Provider } from "./forms.ts";
import type { ContextEvent } from "./outcomes.ts";
import type { SessionView } from "./session-view.ts";

/** What a context is made of. */
export interface ContextParts<P extends Provider> {
  readonly provider: P;
  readonly deps: RoundsDeps;
  readonly sessionDeps: SessionDeps;
  readonly session: Session;
  readonly conversation: Conversation;
  readonly view: SessionView;
  readonly onEvent: ((event: ContextEvent) => void) | undefined;
  /** What a caller renames or replaces later: the conversation with other tools or another model. */
  readonly change: (change: PrefixChange) => Promise<Conversation>;
}

export interface PrefixChange {
  readonly model?: string;
  readonly tools?: readonly JsonObject[];
}

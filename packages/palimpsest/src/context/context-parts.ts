import type { SystemOption } from "./inputs.ts";
import type { JsonObject } from "../schema/json.ts";
import type { SessionDeps } from "../session/session.ts";
import type { ContextMemory } from "./memory/context-memory.ts";
import type { ContextEvent } from "./outcomes.ts";
import type { Provider } from "./provider-formats.ts";
import type { SessionContext } from "./session-context.ts";
import type { KnownItems } from "./sync/known-items.ts";

/** What a context is made of. */
export interface ContextParts<P extends Provider> {
  readonly provider: P;
  /** What earlier runs of the session have synced. */
  readonly known: KnownItems;
  readonly core: SessionContext;
  readonly sessionDeps: SessionDeps;
  readonly memory: ContextMemory | undefined;
  readonly onEvent: ((event: ContextEvent) => void) | undefined;
  /** Starts the conversation again with other tools or another model. */
  readonly change: (change: PrefixChange) => Promise<void>;
}

export interface PrefixChange {
  readonly model?: string;
  readonly system?: SystemOption;
  readonly tools?: readonly JsonObject[];
}

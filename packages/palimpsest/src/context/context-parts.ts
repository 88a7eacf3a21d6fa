import type { JsonObject } from "../schema/json.ts";
import type { SessionDeps } from "../session/session.ts";
import type { AgentOptions, ForkOptions, ForkTies } from "./agent-options.ts";
import type { SystemOption } from "./inputs.ts";
import type { ContextMemory } from "./memory/context-memory.ts";
import type { ContextEvent } from "./outcomes.ts";
import type { Provider } from "./provider-formats.ts";
import type { SessionContext } from "./session-context.ts";
import type { KnownItems } from "./sync/known-items.ts";
import type { MessageDigester } from "./sync/message-digester.ts";

/** What a context is built from. `Child`: the contexts that it starts. */
export interface ContextParts<P extends Provider, Child> {
  readonly provider: P;
  /** What earlier runs of the session have synced. */
  readonly known: KnownItems;
  readonly hiddenTools: ReadonlySet<string>;
  /** The caller's, if it reads the same messages too. */
  readonly digester?: MessageDigester | undefined;
  readonly core: SessionContext;
  readonly sessionDeps: SessionDeps;
  readonly memory: ContextMemory | undefined;
  readonly onEvent: ((event: ContextEvent) => void) | undefined;
  /** Starts the conversation again with other tools, another system prompt or another model. */
  readonly change: (change: PrefixChange) => Promise<void>;
  /** Opens and closes the conversations that this one starts. */
  readonly agents: {
    readonly fork: (options: ForkOptions) => Promise<Child>;
    readonly open: (options: AgentOptions) => Promise<Child>;
    readonly close: () => Promise<void>;
  };
  /** Only of a fork. */
  readonly fork?: ForkTies | undefined;
  readonly onClosed?: (() => void) | undefined;
}

export interface PrefixChange {
  readonly model?: string;
  readonly system?: SystemOption;
  readonly tools?: readonly JsonObject[];
}

import type { ExpandOutcome } from "../session/expand.ts";
import type { ToolOption } from "./inputs.ts";
import type { ContextEvent } from "./outcomes.ts";

export interface ForkOptions {
  /** Its costs count under this name. By default `fork`, `fork-2` … */
  readonly name?: string | undefined;
  /** Its first user message. It also tells the model that it is a fork. Absent: call `user` on the fork. */
  readonly task?: string | undefined;
  /** Receives the fork's events; the parent's listener does not. */
  readonly onEvent?: ((event: ContextEvent) => void) | undefined;
}

export interface AgentOptions {
  /** Its costs count under this name. By default `agent`, `agent-2` … */
  readonly name?: string | undefined;
  /** Its first user message. Absent: call `user` on the agent. */
  readonly task?: string | undefined;
  /** By default its parent's. */
  readonly model?: string | undefined;
  /** By default none: an agent knows nothing of its parent's conversation. */
  readonly system?: string | readonly string[] | undefined;
  /** By default none. */
  readonly tools?: readonly ToolOption[] | undefined;
  readonly thinking?: { readonly type: string } | undefined;
  /** By default its parent's, if it has the same model; else what is known about its model. */
  readonly contextTokens?: number | undefined;
  readonly outputTokensMax?: number | undefined;
  /** Receives the agent's events; the parent's listener does not. */
  readonly onEvent?: ((event: ContextEvent) => void) | undefined;
}

/** What binds a fork to its parent and its siblings: the other forks of the same point. */
export interface ForkTies {
  /** Resolves when its request may be sent, or when the signal is aborted. To be called with each request. */
  readonly enter: (signal: AbortSignal) => Promise<void>;
  /** To be called when a reply begins: siblings can read what its request wrote to the cache. */
  readonly begun: () => void;
  /** To be called when there will be no reply: another sibling leads. */
  readonly left: () => void;
  /** The original behind an id that is in the copied view, and that only the parent's log knows. */
  readonly expand: (id: string) => Promise<ExpandOutcome | undefined>;
}

import type { Engine, EngineDeps } from "../engine.ts";
import type { Session } from "../loop/session.ts";
import type { AgentOptions } from "./agent-options.ts";

/** What an agent is put together from. */
export interface Assembling {
  readonly engine: Engine;
  readonly options: AgentOptions;
  readonly deps: EngineDeps;
  /** Of the project. */
  readonly root: string;
  readonly session: Session;
}

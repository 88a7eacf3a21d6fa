import type { Engine, EngineDeps } from "../host/engine.ts";
import type { Session } from "palimpsest/internal/session/session";
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

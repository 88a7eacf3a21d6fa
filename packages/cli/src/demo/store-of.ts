import { createEngine, type EngineDeps } from "../host/engine.ts";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { DemoPlace } from "./demo-agent.ts";

/** The store of the demo's own home. */
export async function storeOf({ cwd, env }: DemoPlace): Promise<EngineDeps> {
  const project = await createEngine({ env, cwd }).project();
  if (project.kind === "failed") throw new Error(project.message);
  return project.deps;
}

/** What is read of a session without opening it. */
export async function logOf(deps: EngineDeps, session: SessionId): Promise<ByteSource> {
  const source = await deps.transcripts.openForReading(session);
  if (source === undefined) throw new Error("the demo's session is gone");
  return source;
}

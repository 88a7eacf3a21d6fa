import type { Memories } from "palimpsest/internal/ports/memories";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";

/**
 * The project's memories for reading; undefined if the folder is no project yet, so that looking creates nothing. If the
 * folder is damaged, the user is told so.
 */
export async function lookAtMemories(context: CommandContext): Promise<Memories | undefined> {
  const [store] = await openWorkspace(context).stores("project");
  const problem = await store?.memories.problem?.();
  if (problem !== undefined) await context.err.write(`${problem}\n`);
  return store?.memories;
}

/** The project's memories for writing. The project's folder is created if it is missing. */
export async function openMemories(
  context: CommandContext,
): Promise<{ readonly kind: "open"; readonly memories: Memories; readonly root: string } | Failure> {
  const project = await openWorkspace(context).project();
  if (project.kind === "failed") return failure({ code: exitCode.machine, message: project.message });
  return { kind: "open", memories: project.deps.memories, root: project.root };
}

export const noMemories =
  "This project has no memories yet: the agent saves some as you work, and # at its prompt saves one.\n";

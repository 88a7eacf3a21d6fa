import type { Instruction } from "palimpsest/internal/memory/instructions";
import type { HookMoment } from "palimpsest/internal/ports/hooks";

/** The event of one file; an imported one says so, whatever the files were loaded for. */
export const instructionsLoaded = (
  { path, scope, importedBy }: Pick<Instruction, "path" | "scope" | "importedBy">,
  cause: "session_start" | "compact",
): HookMoment => ({
  name: "InstructionsLoaded",
  path,
  memoryType: typeByScope[scope],
  reason: importedBy === undefined ? cause : "include",
  ...(importedBy === undefined ? {} : { parentPath: importedBy }),
});

const typeByScope = { user: "User", project: "Project", local: "Local" } as const satisfies {
  readonly [Scope in Instruction["scope"]]: string;
};

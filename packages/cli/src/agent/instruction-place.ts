import { homedir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../host/engine.ts";
import type { InstructionPlace } from "palimpsest/internal/memory/instructions";
import type { Trust } from "../settings/narrowing-only.ts";

export interface InstructionsOf extends Pick<InstructionPlace, "cwd" | "root"> {
  readonly engine: Pick<Engine, "home">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly trust: Trust;
}

/** Where the instruction files of a session come from. */
export function instructionPlace({ engine, env, cwd, root, trust }: InstructionsOf): InstructionPlace {
  const home = homedir();
  const userFolders = [env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), engine.home];
  return { cwd, root, home, userFolders, trust: trust === "trusted" ? "trusted" : "untrusted" };
}

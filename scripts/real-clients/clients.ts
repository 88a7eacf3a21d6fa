import type { RealClient } from "./client.ts";
import { claudeCode, claudeCodeTerminal } from "./clients/claude-code.ts";
import { codex, codexBuiltIn } from "./clients/codex.ts";
import { libraries } from "./clients/libraries.ts";
import { opencode } from "./clients/opencode.ts";
import { pi } from "./clients/pi.ts";

/** Gemini's client is missing: the simulator does not speak its protocol. */
export const realClients: readonly RealClient[] = [
  claudeCode,
  claudeCodeTerminal,
  codex,
  codexBuiltIn,
  opencode,
  pi,
  ...libraries,
];

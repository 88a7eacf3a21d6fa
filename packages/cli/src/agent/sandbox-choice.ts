import type { SandboxSearch, SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { Settings } from "palimpsest/internal/settings/given";
import { strongerMode } from "../settings/strengthen-sandbox.ts";
import { sandboxUse } from "../tool/sandbox/sandbox-use.ts";

/**
 * How commands run while a session is open. A setting that is strengthened meanwhile counts at once and stays; one that
 * is weakened counts when the session is opened again, since the agent itself may have changed the file.
 */
export function sandboxChoice(found: SandboxSearch | undefined, settings: () => Settings): () => SandboxUse {
  if (found === undefined) return () => ({ kind: "unheld", because: "off" });
  let mode = settings().sandbox.value;
  return () => {
    mode = strongerMode(mode, settings().sandbox.value);
    return sandboxUse(mode, found);
  };
}

/** For people, when a session opens: why no command will run. */
export const sandboxWarnings = (use: SandboxUse): readonly string[] =>
  use.kind === "refused"
    ? [`No command runs: you require a sandbox, and there is none here: ${use.why}. To have one, ${use.remedy}.`]
    : [];

import type { SandboxSearch, SandboxUse } from "../ports/sandbox.ts";
import type { Settings } from "../settings/given.ts";
import { strongerMode } from "../settings/strengthen-sandbox.ts";
import { sandboxUse } from "../tool/sandbox/sandbox-use.ts";

/**
 * How commands run while a session is open. A setting that is strengthened meanwhile counts at once and stays; one that
 * is weakened counts when the session is opened again, since the agent itself may have changed the file.
 */
export function sandboxChoice(found: SandboxSearch, settings: () => Settings): () => SandboxUse {
  let mode = settings().sandbox.value;
  return () => {
    mode = strongerMode(mode, settings().sandbox.value);
    return sandboxUse(mode, found);
  };
}

import type { SandboxSearch, SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { SandboxMode } from "palimpsest/internal/schema/settings";

export function sandboxUse(mode: SandboxMode, found: SandboxSearch): SandboxUse {
  if (mode === "off") return { kind: "unheld", because: "off" };
  if (found.kind === "found") return { kind: "held", sandbox: found.sandbox };
  const { why, remedy } = found;
  return mode === "required" ? { kind: "refused", why, remedy } : { kind: "unheld", because: "absent", why, remedy };
}

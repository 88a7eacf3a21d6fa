import type { PermissionDep, ToolAction } from "../ports/tool.ts";

interface ForkPermissionOptions {
  /** The engine's own tools, which write to nothing but a draft. */
  readonly ownTools: readonly string[];
  /** Tools of the host that a call may use if it only reads. */
  readonly readTools: readonly string[];
  /** `held`: commands run in the operating system's sandbox; then they must run in its read-only strength. */
  readonly sandbox: "held" | "unheld";
}

/**
 * What a fork that keeps memories may do: its own tools, and reading by tools that the host names. The web, tool servers,
 * agents and every write are denied. A tool that says nothing about what it touches counts as reading only if the host named
 * it.
 */
export const forkPermission =
  ({ ownTools, readTools, sandbox }: ForkPermissionOptions): PermissionDep["permit"] =>
  ({ tool, acts }) => {
    if (ownTools.includes(tool)) return Promise.resolve({ kind: "allowed" });
    const isAllowed = readTools.includes(tool) && acts.every((act) => isRead(act, sandbox));
    return Promise.resolve(isAllowed ? { kind: "allowed" } : { kind: "denied", reason: refusal(ownTools, readTools) });
  };

function isRead(act: ToolAction, sandbox: ForkPermissionOptions["sandbox"]): boolean {
  switch (act.kind) {
    case "read":
      return true;
    case "shell": {
      if (act.effect !== "read-only" || act.outsideReason !== undefined) return false;
      // A call that names no strength runs in the host's, whatever that is.
      return sandbox === "unheld" || act.strength === "read-only";
    }
    case "write":
    case "fetch":
    case "mcp":
    case "state":
      return false;
  }
}

const refusal = (ownTools: readonly string[], readTools: readonly string[]): string => {
  const reading = readTools.length === 0 ? "" : `, and ${readTools.join(", ")} for reading`;
  return `While memories are kept, only ${ownTools.join(" and ")}${reading} may be used.`;
};

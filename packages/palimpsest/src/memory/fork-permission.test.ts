import { describe, expect, it } from "vitest";
import type { ShellAction, ToolAction } from "../ports/tool.ts";
import { forkPermission } from "./fork-permission.ts";

const shell = (over: Partial<ShellAction> = {}): ToolAction => ({
  kind: "shell",
  command: "grep -r port src",
  effect: "read-only",
  reads: "known",
  writes: "known",
  ...over,
});
const read: ToolAction = { kind: "read", path: "/p/a.ts" };
const write: ToolAction = { kind: "write", path: "/p/a.ts" };
const options = { ownTools: ["memory", "recall"], readTools: ["read", "bash"], sandbox: "held" } as const;

describe("a fork that keeps memories", () => {
  const rows: readonly (readonly [string, string, readonly ToolAction[], "allowed" | "denied"])[] = [
    ["its own tool", "memory", [{ kind: "state", what: "memory" }], "allowed"],
    ["its own tool without an act", "recall", [], "allowed"],
    ["reading by a tool of the host", "read", [read], "allowed"],
    ["reading by a tool that the host did not name", "cat", [read], "denied"],
    ["writing by a tool that the host named", "read", [read, write], "denied"],
    ["a command that only reads", "bash", [shell({ strength: "read-only" }), read], "allowed"],
    ["a command that names no strength", "bash", [shell()], "denied"],
    ["a command that may write the project", "bash", [shell({ strength: "workspace" })], "denied"],
    ["a command outside the sandbox", "bash", [shell({ strength: "none" })], "denied"],
    [
      "a command that asks to leave the sandbox",
      "bash",
      [shell({ strength: "read-only", outsideReason: "need it" })],
      "denied",
    ],
    [
      "a command that the parser does not know",
      "bash",
      [shell({ strength: "read-only", effect: "unknown" })],
      "denied",
    ],
    [
      "a command with a redirection",
      "bash",
      [shell({ strength: "read-only" }), { ...write, byShell: { reach: "itself" } }],
      "denied",
    ],
    ["the web", "fetch", [{ kind: "fetch", url: "https://x.dev", host: "x.dev" }], "denied"],
    ["a tool server", "mcp", [{ kind: "mcp", server: "s", tool: "t" }], "denied"],
    ["an agent", "agent", [{ kind: "state", what: "agent" }], "denied"],
    ["state of the session by a named tool", "read", [{ kind: "state", what: "todo" }], "denied"],
  ];
  it.each(rows)("%s", async (_, tool, acts, verdict) => {
    expect(await forkPermission(options)({ tool, input: {}, acts })).toMatchObject({ kind: verdict });
  });

  it("goes by the parser alone if there is no sandbox", async () => {
    const permit = forkPermission({ ...options, sandbox: "unheld" });
    expect(await permit({ tool: "bash", input: {}, acts: [shell({ strength: "none" })] })).toEqual({ kind: "allowed" });
  });
});

import type { ForkTool } from "../../ports/fork.ts";
import { textField } from "../../schema/json.ts";
import type { RefusedWrite } from "./apply-writes.ts";
import { type MemoryToolDeps, memoryToolDefinition, runMemoryCommand } from "./memory-tool.ts";

interface MemoryForkOptions {
  /** The name of the tool in the parent's list. */
  readonly name?: string | undefined;
  /** Called after each change. */
  readonly onWrite?: (() => void) | undefined;
  /** Called for each change that is refused. */
  readonly onRefused: (refused: RefusedWrite) => void;
}

/** The memory tool of a background fork: it runs on the fork's draft. */
export const memoryForkTool = (
  deps: MemoryToolDeps,
  { name = memoryToolDefinition.name, onWrite, onRefused }: MemoryForkOptions,
): ForkTool => ({
  name,
  plan: (input) => {
    const command = textField(input, "command") ?? "";
    const path = textField(input, "path") ?? textField(input, "old_path") ?? "";
    return Promise.resolve({
      kind: "ready",
      acts: command === "view" ? [] : [{ kind: "state", what: memoryToolDefinition.name }],
      run: async () => {
        const { text, isError } = await runMemoryCommand(deps, input);
        if (isError) onRefused({ path, why: text });
        else if (command !== "view") onWrite?.();
        return { content: text, isError, summary: `${command} ${path}` };
      },
    });
  },
});

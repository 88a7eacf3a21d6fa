import type { ForkTool } from "../../ports/fork.ts";
import { textField } from "../../schema/json.ts";
import type { RefusedWrite } from "./apply-writes.ts";
import { type MemoryToolDeps, memoryToolDefinition, runMemoryCommand } from "./memory-tool.ts";

/** The memory tool of a background fork: it runs on the fork's draft. `onRefused` is called for each change that it refuses. */
export const memoryForkTool = (deps: MemoryToolDeps, onRefused: (refused: RefusedWrite) => void): ForkTool => ({
  name: memoryToolDefinition.name,
  plan: (input) => {
    const command = textField(input, "command") ?? "";
    const path = textField(input, "path") ?? textField(input, "old_path") ?? "";
    return Promise.resolve({
      kind: "ready",
      acts: command === "view" ? [] : [{ kind: "state", what: memoryToolDefinition.name }],
      run: async () => {
        const { text, isError } = await runMemoryCommand(deps, input);
        if (isError) onRefused({ path, why: text });
        return { content: text, isError, summary: `${command} ${path}` };
      },
    });
  },
});

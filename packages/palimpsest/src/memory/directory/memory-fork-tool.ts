import type { ForkTool } from "../../ports/fork.ts";
import { field } from "../../schema/json.ts";
import type { RefusedWrite } from "./apply-writes.ts";
import { type MemoryToolDeps, memoryToolDefinition, runMemoryCommand } from "./memory-tool.ts";

/** The memory tool of a background fork: it runs on the fork's draft. `onRefused` is called for each change that it refuses. */
export const memoryForkTool = (deps: MemoryToolDeps, onRefused: (refused: RefusedWrite) => void): ForkTool => ({
  name: memoryToolDefinition.name,
  plan: (input) =>
    Promise.resolve({
      kind: "ready",
      acts: field(input, "command") === "view" ? [] : [{ kind: "state", what: memoryToolDefinition.name }],
      run: async () => {
        const { text, isError } = await runMemoryCommand(deps, input);
        const given = field(input, "path") ?? field(input, "old_path");
        const path = typeof given === "string" ? given : "";
        if (isError) onRefused({ path, why: text });
        return { content: text, isError, summary: `${String(field(input, "command"))} ${path}` };
      },
    }),
});

import { classifyTool } from "../../tokens/tool-kind.ts";

/**
 * Their results cannot be had again by running them again, in lower case and without `_` and `-`: notebooks are not ours to judge, what a running
 * command has printed since it was last asked is told once, and a search for tools has loaded them.
 */
const notRerunnable: ReadonlySet<string> = new Set([
  "bashoutput",
  "notebookedit",
  "notebookread",
  "readbash",
  "toolsearch",
  "writebash",
  "writestdin",
]);

/** Results of tools that can be run again. Never cleared: what a person answered, notebooks, tasks, and tools nobody knows, MCP's among them. */
export const isRerunnable = (tool: string): boolean =>
  classifyTool(tool) !== undefined && !notRerunnable.has(tool.toLowerCase().replaceAll(/[_-]/g, ""));

import { classifyTool } from "../../tokens/tool-kind.ts";
import type { Policy } from "../policy.ts";

/**
 * Tools whose results can't be reproduced by running them again, in lower case and without `_` and `-`: we can't judge
 * notebooks, the new output of a running command is reported once, and a search for tools has loaded them.
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

/**
 * Whether a tool can be run again for the same result. What is never cleared: answers of the user, notebooks, tasks,
 * and unknown tools, including those of MCP.
 */
export const isRerunnable = (tool: string): boolean =>
  classifyTool(tool) !== undefined && !notRerunnable.has(tool.toLowerCase().replaceAll(/[_-]/g, ""));

export interface ClearableResults {
  readonly isClearable: (tool: string) => boolean;
  readonly residentTokensMin: number;
}

/** Which results a policy may clear. `isSafe`: whether nothing is lost with the result of a tool. */
export function clearableResults(
  { clearable }: Pick<Policy, "clearable">,
  isSafe: (tool: string) => boolean = isRerunnable,
): ClearableResults {
  return {
    isClearable: clearable?.tools === "all-but-skills" ? isNoSkill : isSafe,
    residentTokensMin: clearable?.tokensMin ?? 0,
  };
}

const isNoSkill = (tool: string): boolean => tool.toLowerCase() !== "skill";

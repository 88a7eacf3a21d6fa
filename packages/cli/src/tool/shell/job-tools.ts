import { z } from "zod";
import type { Job, JobReadOutcome, Jobs } from "palimpsest/internal/ports/jobs";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { plural } from "palimpsest/internal/text/format-count";
import { defineTool, toolError } from "../define-tool.ts";
import { jobCommandCharsMax, jobFilterCharsMax, shellResultCharsMax } from "../limits.ts";

interface JobToolDeps {
  readonly jobs: Jobs;
}

const jobShape = z.string().min(1).describe("As bash named it.");

/**
 * Plain texts, not regular expressions: a model's expression would run in this process and could block it for hours.
 */
const filterShape = z
  .string()
  .min(1)
  .max(jobFilterCharsMax)
  .optional()
  .describe("Only lines with this text, or with one of several: `error|warning`. The others are not shown again.");

/** Only shows output of the agent's own jobs: needs no permission. */
export const bashOutputTool = ({ jobs }: JobToolDeps): Tool =>
  defineTool({
    name: "bash_output",
    description: "What a background command wrote since you last looked, and whether it still runs.",
    input: z.strictObject({ job: jobShape, filter: filterShape }),
    effect: "read",
    resultCharsMax: shellResultCharsMax,
    plan: async (input) => ({
      kind: "ready",
      acts: [],
      run: async () => renderLook(jobs.look(input.job, input.filter), input.job),
    }),
  });

/** An agent that may start a command may end it: needs no permission. */
export const bashKillTool = ({ jobs }: JobToolDeps): Tool =>
  defineTool({
    name: "bash_kill",
    description: "End a background command and all that it started.",
    input: z.strictObject({ job: jobShape }),
    effect: "write",
    resultCharsMax: shellResultCharsMax,
    plan: async (input) => ({
      kind: "ready",
      acts: [],
      run: async () => renderLook(await jobs.kill(input.job), input.job),
    }),
  });

/** The reminder that is added to the next request. */
export const jobEndText = (ended: Job): string =>
  `The background command ${ended.id} (${shortCommand(ended)}) is over: ${jobStateText(ended)}. ` +
  "bash_output shows what it wrote.";

function renderLook(look: JobReadOutcome, id: string): ToolOutcome {
  if (look.kind === "unknown") return toolError(unknownJobText(id, look.known));
  const { output, leftOutBytes, hiddenLines } = look;
  const notes = [
    ...(leftOutBytes > 0 ? [`Not all of it is kept: ${leftOutBytes} bytes of its middle are gone`] : []),
    ...(hiddenLines > 0 ? [`${hiddenLines} other ${plural(hiddenLines, "line")}`] : []),
    ...(output === "" && hiddenLines === 0 ? ["nothing new"] : []),
    jobStateText(look.job),
  ].map((note) => `[${note}]`);
  return {
    content: [output.trimEnd(), ...notes].filter((part) => part !== "").join("\n"),
    summary: `${id}: ${jobStateText(look.job)}`,
  };
}

function unknownJobText(id: string, known: readonly string[]): string {
  const others = known.length === 0 ? "There are none" : `There are ${known.join(", ")}`;
  return `There is no background command ${id}. ${others}; those of an earlier run of the session have ended with it.`;
}

function jobStateText({ state }: Job): string {
  switch (state.kind) {
    case "running":
      return "it still runs";
    case "ended":
      return state.how;
  }
}

function shortCommand({ command }: Job): string {
  const [first = ""] = command.split("\n");
  return first.length > jobCommandCharsMax || first !== command ? `${first.slice(0, jobCommandCharsMax)}…` : first;
}

import { z } from "zod";
import type { RunningGroups } from "../../ports/running-groups.ts";
import type { Act, Tool, ToolContext, ToolOutcome } from "../../ports/tools.ts";
import { millis } from "../../schema/brand.ts";
import { resolveReal } from "../confine.ts";
import { isInsideAny } from "../inside.ts";
import { defineTool } from "../define.ts";
import { shellResultCharsMax, shellTimeoutMsDefault, shellTimeoutMsMax } from "../limits.ts";
import { effectOf } from "./effect.ts";
import { type Environment, shellEnvironment } from "./environment.ts";
import { readsOf } from "./reads.ts";
import { runShell, type ShellEnd } from "./run.ts";
import { writesOf } from "./writes.ts";
import { writingOf } from "./writing.ts";

export interface BashDeps {
  /** Real paths of the project's folders. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly env: Environment;
  readonly shell: Shell;
  /** A session's own, and a copy for each fork: calls change it. */
  readonly standing: ShellStanding;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
}

/** `sh` reads some lines otherwise than the parser does, so there nothing counts as read-only. */
export interface Shell {
  readonly kind: "bash" | "sh";
  readonly path: string;
}

/** Where the next command starts; undefined: in the session's folder. */
export interface ShellStanding {
  cwd: string | undefined;
}

const input = z.strictObject({
  command: z.string().min(1).describe("One line or several."),
  timeout_ms: z
    .int()
    .min(1)
    .max(shellTimeoutMsMax)
    .optional()
    .describe(`Default ${shellTimeoutMsDefault}. The command and what it started are ended then.`),
  description: z.string().optional().describe("What it does, in a few words, for the person who is asked."),
});

export const bashTool = (deps: BashDeps): Tool =>
  defineTool({
    name: "bash",
    description:
      "Run a shell command. The working directory is kept between calls while it is inside the project; variables are not. " +
      "There is no input, and processes left in the background end with the call. " +
      "To read, search and change files use the other tools.",
    input,
    effect: "write",
    resultCharsMax: shellResultCharsMax,
    plan: async ({ command, timeout_ms }, context) => {
      const cwd = deps.standing.cwd ?? context.cwd;
      const acts = await actsOf(deps, { command, cwd });
      return {
        kind: "ready",
        acts,
        run: (signal) =>
          run({ deps, context, command, acts, cwd, signal, timeoutMs: timeout_ms ?? shellTimeoutMsDefault }),
      };
    },
  });

async function actsOf(
  deps: BashDeps,
  line: { readonly command: string; readonly cwd: string },
): Promise<readonly Act[]> {
  const { kind, reading } = effectOf(line.command);
  const reads = reading && (await readsOf(reading, { cwd: line.cwd, home: deps.home }));
  const writes = await writesOf(writingOf(line.command), { cwd: line.cwd, home: deps.home });
  const isTold = deps.shell.kind === "bash" && reads !== undefined && reads.unclear === undefined;
  return [
    {
      kind: "shell",
      command: line.command,
      effect: isTold ? kind : "unknown",
      reads: isTold ? "told" : "unclear",
      writes: deps.shell.kind === "bash" ? writes.sight : "unclear",
    },
    ...(reads?.files ?? []).map(({ path, command }): Act => ({
      kind: "read",
      path,
      ...(command === undefined ? {} : { ofCommand: command }),
    })),
    ...writes.files.map(({ path, reach }): Act => ({ kind: "write", path, byShell: { reach } })),
  ];
}

interface Running {
  readonly deps: BashDeps;
  readonly context: ToolContext;
  readonly command: string;
  readonly acts: readonly Act[];
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

async function run({ deps, context, command, acts, cwd, signal, timeoutMs }: Running): Promise<ToolOutcome> {
  const effect = acts.some((act) => act.kind === "shell" && act.effect === "unknown") ? "unknown" : "read-only";
  const env = shellEnvironment({ env: deps.env, effect, roots: deps.roots });
  const { groups, shell } = deps;
  const record = groups && ((leader: number) => groups.record({ leader, toolUse: context.toolUse }));
  const end = await runShell({ shell: shell.path, command, cwd, env, signal, timeoutMs: millis(timeoutMs), record });
  const notes = [endWords(end, timeoutMs)];
  if (end.leftRunning === "ended" && end.how.kind === "exited") {
    notes.push("Processes it left in the background were ended.");
  }
  if (end.leftOutBytes > 0)
    notes.push(`Its output is not kept whole: ${end.leftOutBytes} bytes of its middle are gone`);
  if (end.how.kind === "not-started") deps.standing.cwd = undefined;
  if (end.folder !== undefined) notes.push(await keepFolder(deps, { folder: end.folder, back: context.cwd }));
  else if (end.how.kind === "exited")
    notes.push(`it is not known where it ended: the working directory is still ${cwd}`);
  const said = notes.filter((note) => note !== "").map((note) => `[${note}]`);
  const isError = end.how.kind !== "exited" || end.how.code !== 0;
  return {
    content: [end.output.trimEnd(), ...said].filter((part) => part !== "").join("\n"),
    ...(isError ? { isError } : {}),
    summary: endWords(end, timeoutMs) || "done",
  };
}

function endWords({ how }: ShellEnd, timeoutMs: number): string {
  switch (how.kind) {
    case "exited":
      return how.code === 0 ? "" : `exit code ${how.code}`;
    case "killed":
      return `ended by ${how.signal}`;
    case "timed-out":
      return `ended after ${timeoutMs} ms, its time limit`;
    case "aborted":
      return "interrupted";
    case "not-started":
      return `the shell could not be started: ${how.why}`;
  }
}

interface Left {
  readonly folder: string;
  readonly back: string;
}

async function keepFolder(deps: BashDeps, { folder, back }: Left): Promise<string> {
  const resolved = await resolveReal(folder, "/");
  if (resolved.kind === "real" && resolved.exists && isInsideAny(resolved.path, deps.roots)) {
    deps.standing.cwd = resolved.path;
    return "";
  }
  deps.standing.cwd = undefined;
  return `the working directory is ${back} again: ${folder} is outside the project`;
}

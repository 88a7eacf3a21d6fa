import { z } from "zod";
import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { RunningGroups } from "palimpsest/internal/ports/session-files";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import type { ToolAction, Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tool";
import { millis } from "palimpsest/internal/schema/brand";
import { resolveRealPath, isInsideAny, canRun } from "../resolve-real-path.ts";
import { defineTool, toolError } from "../define-tool.ts";
import { lastLine } from "palimpsest/internal/text/safe-cut-index";
import { sandboxStrength, sandboxRequiredText, type SessionSandbox } from "../sandbox/session-sandbox.ts";
import { type CommandNetwork, commandNetwork, type SessionNetworkDeps } from "../sandbox/network/command-network.ts";
import { networkFailureNote, sandboxFailureNote, needsNetwork } from "../sandbox/sandbox-failure-note.ts";
import {
  outsideReasonCharsMax,
  shellErrorCharsMax,
  shellResultCharsMax,
  shellSummaryCharsMax,
  shellTimeoutMsDefault,
  shellTimeoutMsMax,
} from "../limits.ts";
import { analyzeEffect } from "./analyze-effect.ts";
import { formatEnd, type EnterSandbox, runShell } from "./run-shell.ts";
import { type Environment, isSecret, type MayPass, shellEnvironment, noteWithheld } from "./shell-environment.ts";
import { isLiteralLine } from "./parse-line.ts";
import { resolveReads, resolveShows, resolveWrites } from "./resolve-reads.ts";
import { analyzeShows } from "./analyze-shows.ts";
import { analyzeWrites } from "./analyze-writes.ts";

export interface BashDeps {
  /** Real paths of the project's folders. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly env: Environment;
  /** According to the current rules. Absent: everything except secrets. */
  readonly mayPass?: MayPass;
  readonly shell: Shell;
  /** One per session; a fork gets a copy. Calls change it. */
  readonly shellState: ShellState;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
  /** Runs every command in it. Absent: commands run like this process. */
  readonly sandbox?: SessionSandbox | undefined;
  /** Absent if nothing may run in the background: then the input has no field for it. */
  readonly jobs?: Jobs | undefined;
  /** How sandboxed commands reach hosts. Absent: they can't. */
  readonly network?: SessionNetworkDeps | undefined;
}

/** `sh` interprets some lines differently from the parser, so with it nothing counts as read-only. */
export interface Shell {
  readonly kind: "bash" | "sh";
  readonly path: string;
}

/** Where the next command starts; undefined: in the session's folder. */
interface ShellState {
  cwd: string | undefined;
}

const input = z.strictObject({
  command: z.string().min(1),
  timeout_ms: z
    .int()
    .min(1)
    .max(shellTimeoutMsMax)
    .optional()
    .describe(
      `Default ${shellTimeoutMsDefault}, at most ${shellTimeoutMsMax}. The command and what it started are ended then.`,
    ),
  description: z.string().optional().describe("What it does, in a few words, for the person who is asked."),
  network: z
    .boolean()
    .optional()
    .describe("It connects to hosts. Not needed for package managers, git, curl and the like."),
  outside_sandbox: z
    .string()
    .min(1)
    .max(outsideReasonCharsMax)
    .optional()
    .describe(
      "Run it without the sandbox, only where that refused what is needed: why, in a sentence, for the user who is asked.",
    ),
});

const inputWithJobs = input.extend({
  background: z
    .boolean()
    .optional()
    .describe(
      "Start it and go on: bash_output shows what it writes, bash_kill ends it, and so does the session's end.",
    ),
});

type BashInput = z.infer<typeof inputWithJobs>;

export const bashTool = (deps: BashDeps): Tool =>
  defineTool<BashInput>({
    name: "bash",
    description:
      "Run a shell command. The working directory is kept between calls while it is inside the project; variables are not. " +
      "There is no input, and processes left in the background end with the call. " +
      "To read, search and change files use the other tools.",
    input: deps.jobs === undefined ? input : inputWithJobs,
    effect: "write",
    resultCharsMax: shellResultCharsMax,
    plan: async ({ command, timeout_ms, background, network, outside_sandbox }, context) => {
      const use = deps.sandbox?.use();
      if (use?.kind === "refused")
        return { kind: "wrong", message: `The command was not run: ${sandboxRequiredText(use)}.` };
      const cwd = deps.shellState.cwd ?? context.cwd;
      // Without a sandbox there is no outside.
      const outsideReason = use?.kind === "held" ? outside_sandbox : undefined;
      const acts = await collectActs(deps, { command, cwd, outsideReason });
      const { jobs } = deps;
      const line: PlannedLine = { deps, context, command, acts, cwd, network };
      if (background === true && jobs !== undefined)
        return { kind: "ready", acts, run: async () => startJob({ ...line, jobs, timeout_ms }) };
      const timeoutMs = timeout_ms ?? shellTimeoutMsDefault;
      return { kind: "ready", acts, run: (signal) => runLine({ ...line, signal, timeoutMs }) };
    },
  });

async function collectActs(
  deps: BashDeps,
  line: { readonly command: string; readonly cwd: string; readonly outsideReason: string | undefined },
): Promise<readonly ToolAction[]> {
  const start = { cwd: line.cwd, home: deps.home };
  const { kind, reading } = analyzeEffect(line.command);
  const reads = reading && (await resolveReads(reading, start));
  const writes = await resolveWrites(analyzeWrites(line.command), start);
  const { outsideReason } = line;
  const isHeld = deps.sandbox?.use().kind === "held" && outsideReason === undefined;
  const areReadsKnown = deps.shell.kind === "bash" && reads !== undefined && reads.unclear === undefined;
  const effect = areReadsKnown ? kind : "unknown";
  return [
    {
      kind: "shell",
      command: line.command,
      effect,
      strength: isHeld ? sandboxStrength({ effect }) : "none",
      ...(outsideReason === undefined ? {} : { outsideReason }),
      ...(isLiteralLine(line.command) ? { words: "literal" } : {}),
      reads: areReadsKnown ? "known" : "unclear",
      writes: deps.shell.kind === "bash" ? writes.sight : "unclear",
      ...(deps.shell.kind === "bash" ? { shows: await resolveShows(analyzeShows(line.command), start) } : {}),
    },
    ...(reads?.files ?? []).map(({ path, command }): ToolAction => ({
      kind: "read",
      path,
      ...(command === undefined ? {} : { ofCommand: command }),
    })),
    ...writes.files.map(({ path, reach }): ToolAction => ({ kind: "write", path, byShell: { reach } })),
  ];
}

interface PlannedLine {
  readonly deps: BashDeps;
  readonly context: ToolContext;
  readonly command: string;
  readonly acts: readonly ToolAction[];
  readonly cwd: string;
  /** The model's `network` input. */
  readonly network: boolean | undefined;
}

interface RunInput extends PlannedLine {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

interface StartJobInput extends PlannedLine {
  readonly jobs: Jobs;
  readonly timeout_ms: number | undefined;
}

/** Interrupting the turn does not end it: it was started to outlast the call. */
function startJob({ jobs, timeout_ms, ...line }: StartJobInput): ToolOutcome {
  const { deps, context, command, acts, cwd } = line;
  const network = networkForLine(line, new AbortController().signal);
  const { enter, limits } = entranceFor(line, network);
  const started = jobs.start({
    command,
    cwd,
    env: commandEnvironment(deps, acts),
    enter,
    toolUse: context.toolUse,
    timeoutMs: timeout_ms === undefined ? undefined : millis(timeout_ms),
    endNotes: ({ output, result }) => [
      ...(network?.notes() ?? []),
      ...(result === "failed" ? refusalNotes({ output, cwd, limits: limits() }) : []),
    ],
  });
  switch (started.kind) {
    case "started":
      return { content: `Started in the background as ${started.job.id}.`, summary: `started as ${started.job.id}` };
    case "refused":
      return toolError(`Not started: ${started.why}.`);
  }
}

const noSecrets: MayPass = (name, value) => !isSecret(name, value);

function commandEnvironment(
  { env, roots, mayPass = noSecrets }: BashDeps,
  acts: readonly ToolAction[],
): Record<string, string> {
  const effect = acts.some((act) => act.kind === "shell" && act.effect === "unknown") ? "unknown" : "read-only";
  return shellEnvironment({ env, effect, roots, mayPass });
}

/** How a line enters the sandbox, and the limits it got there. */
interface SandboxEntrance {
  readonly enter: EnterSandbox | undefined;
  readonly limits: () => SandboxLimits | undefined;
}

/** All acts were permitted together with the line, otherwise it would not run. */
function entranceFor({ deps: { sandbox }, acts }: PlannedLine, network: CommandNetwork | undefined): SandboxEntrance {
  let limits: SandboxLimits | undefined;
  if (sandbox === undefined || isOutside(acts)) return { enter: undefined, limits: () => undefined };
  const enter: EnterSandbox = async (start) => {
    const entry = await sandbox.enter(start, { acts, network });
    limits = entry.limits;
    return entry;
  };
  return { enter, limits: () => limits };
}

const isOutside = (acts: readonly ToolAction[]): boolean =>
  acts.some((act) => act.kind === "shell" && act.outsideReason !== undefined);

/** A line that runs without asking must not reach any host. */
function networkForLine(
  { deps, context, command, acts, network }: PlannedLine,
  signal: AbortSignal,
): CommandNetwork | undefined {
  const isHarmless = acts.some((act) => act.kind === "shell" && sandboxStrength(act) === "read-only");
  if (deps.network === undefined || isHarmless || isOutside(acts) || !(network === true || needsNetwork(command)))
    return undefined;
  return commandNetwork(deps.network, { toolUse: context.toolUse, command, signal });
}

async function runLine({ signal, timeoutMs, ...line }: RunInput): Promise<ToolOutcome> {
  const { deps, context, command, acts, cwd } = line;
  const network = networkForLine(line, signal);
  const env = commandEnvironment(deps, acts);
  const { groups, shell } = deps;
  const record = groups && ((leader: number) => groups.record({ leader, toolUse: context.toolUse }));
  const { enter, limits } = entranceFor(line, network);
  const end = await runShell({
    shell: shell.path,
    command,
    cwd,
    env,
    enter,
    signal,
    timeoutMs: millis(timeoutMs),
    record,
  });
  const notes = [formatEnd(end, timeoutMs), ...(network?.notes() ?? [])];
  if (end.leftRunning === "ended" && end.how.kind === "exited") {
    notes.push("Processes it left in the background were ended.");
  }
  if (end.leftOutBytes > 0)
    notes.push(`Its output is not kept whole: ${end.leftOutBytes} bytes of its middle are gone`);
  if (end.how.kind === "not-started") deps.shellState.cwd = undefined;
  if (end.folder !== undefined) notes.push(await keepFolder(deps, { folder: end.folder, back: context.cwd }));
  else if (end.how.kind === "exited")
    notes.push(`it is not known where it ended: the working directory is still ${cwd}`);
  const isError = end.how.kind !== "exited" || end.how.code !== 0;
  const refusals = isError ? refusalNotes({ output: end.output, cwd, limits: limits() }) : [];
  if (isError) {
    const { env: processEnv, mayPass = noSecrets } = deps;
    notes.push(...refusals);
    if (network === undefined && isHeldInWorkspace(acts)) notes.push(networkFailureNote(end.output) ?? "");
    notes.push(noteWithheld({ env: processEnv, mayPass, text: `${command} ${end.output.slice(-shellErrorCharsMax)}` }));
  }
  const noteLines = notes.filter((note) => note !== "").map((note) => `[${note}]`);
  return {
    content: [end.output.trimEnd(), ...noteLines].filter((part) => part !== "").join("\n"),
    ...(isError ? { isError } : {}),
    summary:
      [formatEnd(end, timeoutMs), ...refusals].filter((part) => part !== "").join("; ") ||
      lastLine(end.output, shellSummaryCharsMax) ||
      "no output",
  };
}

function refusalNotes({
  output,
  cwd,
  limits,
}: {
  readonly output: string;
  readonly cwd: string;
  readonly limits: SandboxLimits | undefined;
}): readonly string[] {
  const note = limits && sandboxFailureNote({ output, cwd, limits });
  return note === undefined ? [] : [note];
}

const isHeldInWorkspace = (acts: readonly ToolAction[]): boolean =>
  acts.some((act) => act.kind === "shell" && act.strength === "workspace");

async function keepFolder(
  deps: BashDeps,
  { folder, back }: { readonly folder: string; readonly back: string },
): Promise<string> {
  const resolved = await resolveRealPath(folder, "/");
  if (resolved.kind === "real" && resolved.exists && isInsideAny(resolved.path, deps.roots)) {
    deps.shellState.cwd = resolved.path;
    return "";
  }
  deps.shellState.cwd = undefined;
  return `the working directory is ${back} again: ${folder} is outside the project`;
}

/** The usual locations; not looked up in PATH, which may lead into a project. */
const bashPaths: readonly string[] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];

export async function findShell(): Promise<Shell> {
  for (const path of bashPaths) if (await canRun(path)) return { kind: "bash", path };
  return { kind: "sh", path: "/bin/sh" };
}

import type { Readable } from "node:stream";
import { type Command, type CommandContext, type CommandGroup, loadCommand, type Outcome } from "./program/command.ts";
import { versionCommand } from "./command/version-command.ts";
import { exitCode, type Failure, failureFromError, isFailure, renderFailure } from "./program/failure.ts";
import { findCommand } from "./program/find-command.ts";
import { helpText } from "./program/help-text.ts";
import { hasInput } from "./program/read-pipe.ts";
import { type OutputStream, createOutput } from "./program/output.ts";
import { usageFailure } from "./program/parse-arguments.ts";
import { program as wholeProgram } from "./program/program.ts";

/** The parts of the process, passed in, so that a test can run the command line without one. */
export interface Invocation {
  /** Without the names of node and script. */
  readonly argv: readonly string[];
  readonly stdin: Readable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly cwd: string;
  readonly program?: CommandGroup;
}

/** Must not reject: whatever happens ends in a message on stderr and an exit code. */
export async function main(invocation: Invocation): Promise<number> {
  const { argv, stdin, env, cwd, program = wholeProgram } = invocation;
  const out = createOutput(invocation.stdout, env);
  const err = createOutput(invocation.stderr, env);
  const context = { stdin, out, err, env, cwd, program };

  const outcome = await dispatch(context, argv).catch(failureFromError);
  const state = out.state();
  const final = state.kind === "broken" && !isFailure(outcome) ? failureFromError(state.error) : outcome;
  if (!isFailure(final)) return typeof final === "object" ? final.code : final;
  await err.write(renderFailure(final, err.style));
  if (beforeDashes(argv).includes("--debug")) await err.write(await stackText(final));
  return final.code;
}

async function dispatch(context: Omit<CommandContext, "called">, argv: readonly string[]): Promise<Outcome> {
  const found = await findCommand(context.program, argv);
  if (found.kind === "failure") return found;
  const { command, called, flags, rest } = found;
  const isBare = command === context.program && flags.every((flag) => flag === "--debug");

  const { itself } = context.program;
  if (isBare && itself !== undefined && (await hasInput(context.stdin)))
    return runCommand({ command: await loadCommand(itself), context: { ...context, called }, argv: flags });
  if (isBare || asksForHelp(flags) || asksForHelp(beforeDashes(rest))) {
    const named = command.kind === "action" ? command.actions.find(({ name }) => rest.includes(name)) : undefined;
    const subject = named === undefined ? { command, called } : { command: named, called: `${called} ${named.name}` };
    await context.out.write(helpText({ ...subject, style: context.out.style }));
    return exitCode.fine;
  }
  if (flags.includes("--version") || flags.includes("-v")) {
    return versionCommand.run({ ...context, called }, flags.includes("--json") ? ["--json"] : []);
  }
  return runCommand({ command, context: { ...context, called }, argv: [...flags, ...rest] });
}

async function runCommand({
  command,
  context,
  argv,
}: {
  readonly command: Command;
  readonly context: CommandContext;
  readonly argv: readonly string[];
}): Promise<Outcome> {
  if (command.kind === "action") return command.run(context, argv);
  const names = command.commands.map(({ name }) => name).join(", ");
  return usageFailure(`${command.name} needs a command: ${names}`, context.called);
}

const asksForHelp = (words: readonly string[]): boolean => words.includes("--help") || words.includes("-h");

/** The words behind `--` are operands, whatever they look like. */
function beforeDashes(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end === -1 ? argv : argv.slice(0, end);
}

/** People paste it into reports, so secrets in its message are masked. */
async function stackText({ cause }: Failure): Promise<string> {
  if (!(cause instanceof Error)) return "";
  const { maskSecrets } = await import("palimpsest/internal/text/find-secrets");
  return maskSecrets(`${cause.stack ?? cause.message}\n`);
}

import type { Readable } from "node:stream";
import type { ExitCode, Failure, ProgramExit } from "./failure.ts";
import type { Output } from "./output.ts";
import { type Arguments, type Operands, type Options, type Syntax, parseArguments } from "./parse-arguments.ts";

/** Everything of the process that a command may use. */
export interface CommandContext {
  readonly stdin: Readable;
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly cwd: string;
  /** The whole command table, for commands about commands. */
  readonly program: CommandGroup;
  /** How the command was called: `palimpsest sessions list`. */
  readonly called: string;
}

export type Outcome = ExitCode | Failure | ProgramExit;

export type Command = CommandAction | CommandGroup;

/** A command in a table: its code is loaded on demand, since loading all of them takes longer than most take to run. */
interface DeferredCommand {
  readonly kind: "deferred";
  readonly name: string;
  readonly summary: string;
  /** Resolves with a command of the same name and summary. */
  readonly load: () => Promise<Command>;
}

export type ListedCommand = Command | DeferredCommand;

/** A command with subcommands: `sessions list`. */
export interface CommandGroup {
  readonly kind: "group";
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly ListedCommand[];
  /** What it does without a subcommand. */
  readonly itself?: CommandAction | DeferredCommand;
  /** What to say about a word that is no command here, but that users try. */
  readonly hintByWord?: Readonly<Record<string, string>>;
}

/** A command that does something. Created with `command`, which hides the types of its arguments. */
export interface CommandAction extends Syntax {
  readonly kind: "action";
  readonly name: string;
  readonly summary: string;
  /** Paragraphs for its help, below the options. */
  readonly details: readonly string[];
  /** What it does if its first operand names one of them, each with a help of its own. */
  readonly actions: readonly CommandAction[];
  run(context: CommandContext, argv: readonly string[]): Promise<Outcome>;
}

interface CommandDefinition<Of extends Operands, Op extends Options> {
  readonly name: string;
  /** One line, lower case, without a full stop. */
  readonly summary: string;
  /** In the order in which they are written. */
  readonly operands?: Of;
  readonly options?: Op;
  /** Present if the command has `--json`: what the one object on stdout holds. */
  readonly json?: string;
  readonly details?: readonly string[];
  readonly actions?: readonly CommandAction[];
  /** What to say about an option that is not known. */
  readonly unknownOptionHint?: string;
  /** Returns expected failures; throws only for a bug or an error of the machine. */
  run(context: CommandContext, args: Arguments<Of, Op>): Promise<Outcome>;
}

export function command<const Of extends Operands = {}, const Op extends Options = {}>(
  definition: CommandDefinition<Of, Op>,
): CommandAction {
  const { name, summary, operands, options, json, details = [], actions = [], unknownOptionHint } = definition;
  const syntax = { operands: operands ?? {}, options: options ?? {}, json, unknownOptionHint };
  return {
    kind: "action",
    name,
    summary,
    details,
    actions,
    ...syntax,
    run: async (context, argv) => {
      const parsed = parseArguments<Of, Op>({ syntax, argv, called: context.called });
      return parsed.kind === "parsed" ? definition.run(context, parsed.args) : parsed;
    },
  };
}

export const group = (definition: Omit<CommandGroup, "kind">): CommandGroup => ({ kind: "group", ...definition });

export const deferCommand = (definition: Omit<DeferredCommand, "kind">): DeferredCommand => ({
  kind: "deferred",
  ...definition,
});

export const loadCommand = async (listed: ListedCommand): Promise<Command> =>
  listed.kind === "deferred" ? listed.load() : listed;

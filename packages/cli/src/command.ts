import type { Readable } from "node:stream";
import type { ExitCode } from "./exit-code.ts";
import type { Failure } from "./failure.ts";
import type { Output } from "./output.ts";
import { type Arguments, type Operands, type Options, type Syntax, parse } from "./parse.ts";

/** Everything of the process that a command may touch. */
export interface CommandContext {
  readonly stdin: Readable;
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly cwd: string;
  /** The whole command table, for commands that speak about commands. */
  readonly program: Group;
  /** How the command was called: `palimpsest sessions list`. */
  readonly called: string;
}

export type Outcome = ExitCode | Failure;

export type Command = Action | Group;

/** A command in a table: its code is loaded when somebody wants it, since loading all of them takes longer than most take to run. */
export interface Deferred {
  readonly kind: "deferred";
  readonly name: string;
  readonly summary: string;
  /** Of the same name and summary. */
  readonly load: () => Promise<Command>;
}

export type Listed = Command | Deferred;

/** A command with commands of its own: `sessions list`. */
export interface Group {
  readonly kind: "group";
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Listed[];
  /** What it does when no command is given. */
  readonly itself?: Action | Deferred;
}

/** A command that does something. Made with `command`, which keeps the types of its arguments to itself. */
export interface Action extends Syntax {
  readonly kind: "action";
  readonly name: string;
  readonly summary: string;
  /** Paragraphs for its help, below the options. */
  readonly details: readonly string[];
  run(context: CommandContext, argv: readonly string[]): Promise<Outcome>;
}

export interface Definition<Of extends Operands, Op extends Options> {
  readonly name: string;
  /** One line, lower case, without a full stop. */
  readonly summary: string;
  /** In the order in which they are written. */
  readonly operands?: Of;
  readonly options?: Op;
  /** Present where the command knows `--json`: what the one object on stdout holds. */
  readonly json?: string;
  readonly details?: readonly string[];
  /** Expected failure is returned; what is thrown is a bug or the machine's refusal. */
  run(context: CommandContext, args: Arguments<Of, Op>): Promise<Outcome>;
}

export function command<const Of extends Operands = {}, const Op extends Options = {}>(
  definition: Definition<Of, Op>,
): Action {
  const { name, summary, operands, options, json, details = [] } = definition;
  const syntax = { operands: operands ?? {}, options: options ?? {}, json };
  return {
    kind: "action",
    name,
    summary,
    details,
    ...syntax,
    run: async (context, argv) => {
      const parsed = parse<Of, Op>({ syntax, argv, called: context.called });
      return parsed.kind === "parsed" ? definition.run(context, parsed.args) : parsed;
    },
  };
}

export const group = (parts: Omit<Group, "kind">): Group => ({ kind: "group", ...parts });

export const deferred = (parts: Omit<Deferred, "kind">): Deferred => ({ kind: "deferred", ...parts });

export const loaded = async (listed: Listed): Promise<Command> => (listed.kind === "deferred" ? listed.load() : listed);

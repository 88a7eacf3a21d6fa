import { parseArgs } from "node:util";
import { exitCode, type Failure, failure } from "./failure.ts";
import { nearestName } from "palimpsest/internal/text/nearest-name";

/** What a command's line may hold, as data: parsing, help and the types of the arguments all come from it. */
export interface Syntax {
  readonly operands: Operands;
  readonly options: Options;
  readonly json: string | undefined;
  /** What to say about an option that is not known. */
  readonly unknownOptionHint?: string | undefined;
}

export type Operands = Readonly<Record<string, Operand>>;
export interface Operand {
  /** As help shows it, without brackets: `session|file`. */
  readonly shown: string;
  readonly summary: string;
  /** All but `one` come last; `some` needs at least one. */
  readonly takes?: "one" | "optional" | "many" | "some";
}

export type Options = Readonly<Record<string, Option>>;
export type Option = FlagOption | ValueOption;
interface FlagOption {
  readonly type: "boolean";
  readonly short?: string;
  readonly summary: string;
}
interface ValueOption {
  readonly type: "string";
  readonly short?: string;
  /** An older name that still works. Help does not show it. */
  readonly alias?: string;
  readonly summary: string;
  /** As help shows it, without brackets: `entry`. */
  readonly shown: string;
  /** `maybe`: the value may be missing, and is empty then. */
  readonly takes?: "one" | "many" | "maybe";
}

export interface Arguments<Of extends Operands, Op extends Options> {
  readonly operands: { readonly [Name in keyof Of]: OperandValue<Of[Name]> };
  readonly options: { readonly [Name in keyof Op]: OptionValue<Op[Name]> };
  readonly format: "text" | "json";
}
type OperandValue<O extends Operand> = O extends { takes: "many" | "some" }
  ? readonly string[]
  : O extends { takes: "optional" }
    ? string | undefined
    : string;
type OptionValue<O extends Option> = O extends { type: "boolean" }
  ? boolean
  : O extends { takes: "many" }
    ? readonly string[]
    : string | undefined;

/** Known to every command. */
const commonOptions = {
  help: { type: "boolean", short: "h", summary: "show this help" },
  debug: { type: "boolean", summary: "show the stack trace of a failure" },
} as const satisfies Options;

export const allOptions = ({ options, json }: Syntax): Options => ({
  ...options,
  ...(json === undefined ? {} : { json: { type: "boolean", summary: `print JSON: ${json}` } as const }),
  ...commonOptions,
});

type ParseOutcome<Of extends Operands, Op extends Options> =
  | { readonly kind: "parsed"; readonly args: Arguments<Of, Op> }
  | Failure;

export function parseArguments<Of extends Operands, Op extends Options>(input: {
  readonly syntax: Syntax;
  readonly argv: readonly string[];
  readonly called: string;
}): ParseOutcome<Of, Op> {
  const { syntax, argv, called } = input;
  const options = allOptions(syntax);
  const nameByAlias = new Map(
    Object.entries(options).flatMap(([name, option]) => aliases(option).map((alias) => [alias, name])),
  );
  const { tokens, positionals } = parseArgs({
    args: fillLoneOptions(argv, options),
    options: Object.fromEntries(
      Object.entries(options).flatMap(([name, option]) =>
        [name, ...aliases(option)].map((known) => [known, parserOption(option)]),
      ),
    ),
    allowPositionals: true,
    // Not strict: its messages name neither the nearest option nor where to look.
    strict: false,
    tokens: true,
  });

  const values = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const name = nameByAlias.get(token.name) ?? token.name;
    const problem = optionProblem({ ...token, name }, options);
    if (problem !== undefined) {
      const hint = Object.hasOwn(options, name) ? undefined : syntax.unknownOptionHint;
      return { ...usageFailure(problem, called), ...(hint === undefined ? {} : { hint }) };
    }
    values.set(name, [...(values.get(name) ?? []), token.value ?? ""]);
  }
  const problem = operandProblem(syntax.operands, positionals);
  if (problem !== undefined) return usageFailure(problem, called);

  const args = {
    operands: operandValues(syntax.operands, positionals),
    options: optionValues(syntax.options, values),
    format: values.has("json") && syntax.json !== undefined ? "json" : "text",
  };
  // The mapped types say the same as the functions that made the values, in a way the compiler cannot follow.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { kind: "parsed", args: args as Arguments<Of, Op> };
}

/** An option whose optional value is missing gets an empty one: the parser would take the next word for it. */
function fillLoneOptions(argv: readonly string[], options: Options): string[] {
  const longByWord = new Map<string, string>();
  for (const [name, option] of Object.entries(options)) {
    if (option.type !== "string" || option.takes !== "maybe") continue;
    longByWord.set(`--${name}`, `--${name}`);
    if (option.short !== undefined) longByWord.set(`-${option.short}`, `--${name}`);
  }
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, at) => {
    const long = longByWord.get(word);
    const isAlone = argv[at + 1]?.startsWith("-") ?? true;
    return long !== undefined && isAlone && at < end ? `${long}=` : word;
  });
}

export const usageFailure = (message: string, called: string): Failure =>
  failure({ code: exitCode.usage, message: `${message} (see ${called} --help)` });

export const aliases = (option: Option): readonly string[] =>
  option.type === "string" && option.alias !== undefined ? [option.alias] : [];

const parserOption = ({ type, short }: Option): { type: Option["type"]; short?: string } =>
  short === undefined ? { type } : { type, short };

function optionProblem(
  {
    name,
    rawName,
    value,
    inlineValue,
  }: {
    readonly name: string;
    readonly rawName: string;
    readonly value?: string | undefined;
    readonly inlineValue?: boolean | undefined;
  },
  options: Options,
): string | undefined {
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) return unknownWordText({ what: "option", word: rawName, names: optionNames(options) });
  if (option.type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  const looksLikeAnOption = value !== undefined && inlineValue !== true && /^-[^\d]/.test(value);
  if (value === undefined || looksLikeAnOption) return `${rawName} needs a value: ${rawName} <${option.shown}>`;
  return undefined;
}

const optionNames = (options: Options): readonly string[] => Object.keys(options).map((name) => `--${name}`);

export function unknownWordText({
  what,
  word,
  names,
}: {
  readonly what: string;
  readonly word: string;
  readonly names: readonly string[];
}): string {
  const guess = nearestName(word, names);
  return guess === undefined ? `unknown ${what} ${word}` : `unknown ${what} ${word}: did you mean ${guess}?`;
}

function operandProblem(operands: Operands, words: readonly string[]): string | undefined {
  const list = Object.values(operands);
  const missing = list.find(
    ({ takes = "one" }, index) => (takes === "one" || takes === "some") && words[index] === undefined,
  );
  if (missing !== undefined) return `<${missing.shown}> is missing`;
  const last = list.at(-1)?.takes;
  if (last === "many" || last === "some" || words.length <= list.length) return undefined;
  return `unexpected argument ${words[list.length]}`;
}

type Value = boolean | string | readonly string[] | undefined;

const operandValues = (operands: Operands, words: readonly string[]): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(operands).map(([name, { takes }], index): [string, Value] => [
      name,
      takes === "many" || takes === "some" ? words.slice(index) : words[index],
    ]),
  );

const optionValues = (options: Options, values: ReadonlyMap<string, string[]>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]): [string, Value] => {
      if (option.type === "boolean") return [name, values.has(name)];
      const texts = values.get(name) ?? [];
      return [name, option.takes === "many" ? texts : texts.at(-1)];
    }),
  );

/** The operand by which every command that reads a log takes its name. */
export const sessionOperand = {
  shown: "session|file",
  summary: "a session's id, a prefix of one, or a transcript's path",
} as const satisfies Operand;

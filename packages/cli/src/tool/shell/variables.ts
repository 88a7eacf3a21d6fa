import type { ShellWord } from "./word.ts";

export interface VariablesSet {
  readonly names: readonly string[];
  /** `unclear`: it may set others too. */
  readonly sight: "clear" | "unclear";
}

/** What a builtin of the shell sets that is given the names of variables. */
export function variablesSet([name, ...args]: readonly ShellWord[]): VariablesSet {
  const none: VariablesSet = { names: [], sight: "clear" };
  if (name === undefined || !setters.has(name.value)) return none;
  if (name.value === "printf") {
    const [format] = args;
    if (format?.kind === "plain" && !format.value.startsWith("-v"))
      return settingFormat.test(format.value) ? anyOther : none;
  }
  if (name.value === "wait" && !args.some(({ value }) => value.startsWith("-"))) return none;
  // With `-n` one name stands for another; a name in parts is known to the shell alone.
  const isUnclear = args.some(
    ({ kind, value }) => /^-[^-]*n/.test(value) || (kind !== "plain" && !assigned.test(value)),
  );
  return {
    names: args.flatMap(({ value }) => (value.startsWith("-") ? [] : [value.split(/\+?=|\[/, 1)[0] ?? ""])),
    sight: isUnclear ? "unclear" : "clear",
  };
}

const anyOther: VariablesSet = { names: [], sight: "unclear" };

/** `%n` sets the variable that is its argument. */
const settingFormat = /%[^%a-zA-Z]*[hlLjzt]*n/;

const assigned = /^\w+\+?=/;

const setters: ReadonlySet<string> = new Set(
  "declare export getopts let local mapfile printf read readarray readonly typeset unset wait".split(" "),
);

/** Whether an argument is taken for an expression, and a command in its brackets would be run. */
export function mayRunSubscript([name, ...args]: readonly ShellWord[]): boolean {
  if (name === undefined) return false;
  const isTest = name.value === "[" || name.value === "test";
  if (!setters.has(name.value) && !isTest) return false;
  if ((isTest || name.value === "printf") && !args.some(({ value }) => value.startsWith("-v"))) return false;
  const isNumber = args.some(({ value }) => /^-[^-]*[iv]/.test(value));
  return args.some(({ kind, value }) => value.includes("[") || (isNumber && kind === "dynamic"));
}

/** Whether it changes what words and names of programs mean to the shell. */
export function changesMeaning([name, ...args]: readonly ShellWord[]): boolean {
  switch (name?.value) {
    case "shopt":
    case "enable":
      return args.length > 0;
    case "hash":
      return args.some(({ kind, value }) => kind !== "plain" || /^-[^-]*p/.test(value));
    case "set":
      return args.some(({ value }) => /^-[^-]*k|^(?:keyword|posix)$/.test(value));
    default:
      return false;
  }
}

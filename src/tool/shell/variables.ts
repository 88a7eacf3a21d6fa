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
  const [first] = args;
  if (name.value === "printf" && first?.kind !== "dynamic" && first?.value.startsWith("-v") !== true) return none;
  // With `-n` one name stands for another; a name in parts is known to the shell alone.
  const isUnclear = args.some(
    ({ kind, value }) => /^-[^-]*n/.test(value) || (kind !== "plain" && !assigned.test(value)),
  );
  return {
    names: args.flatMap(({ value }) => (value.startsWith("-") ? [] : [value.split(/\+?=|\[/, 1)[0] ?? ""])),
    sight: isUnclear ? "unclear" : "clear",
  };
}

const assigned = /^\w+\+?=/;

const setters: ReadonlySet<string> = new Set(
  "declare export getopts let local mapfile printf read readarray readonly typeset unset".split(" "),
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

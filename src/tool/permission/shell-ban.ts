import { shellNestingMax } from "../limits.ts";
import { parseLine, type ShellWord } from "../shell/line.ts";
import type { Rule, ShellPattern } from "./rule.ts";
import { isLike } from "./shell-rule.ts";

/** Whether a rule forbids some command of the line; `unclear` where there are such rules and the line can't be looked into. */
export function forbidsLine(rules: readonly Rule[], command: string): Rule | "unclear" | undefined {
  const shellRules = rules.filter((rule) => rule.kind === "shell");
  if (shellRules.length === 0) return undefined;
  const whole = shellRules.find((rule) => rule.pattern.kind === "any");
  if (whole !== undefined) return whole;
  const within = commandsWithin(command, shellNestingMax);
  const rule = shellRules.find(({ pattern }) => within.commands.some((words) => isLike(pattern, words)));
  if (rule !== undefined) return rule;
  const isDoubtful = shellRules.some(({ pattern }) => within.commands.some((words) => mayBecome(pattern, words)));
  return isDoubtful || within.sight === "unclear" ? "unclear" : undefined;
}

/** Whether words that only the shell knows may make it a command that the pattern is for. */
function mayBecome(pattern: ShellPattern, words: readonly ShellWord[]): boolean {
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts": {
      const differing = pattern.words.findIndex((word, index) => !isPlainly(words[index], word));
      return differing !== -1 && words[differing] !== undefined && words[differing].kind !== "plain";
    }
    case "like":
      return (
        words.some(({ kind }) => kind !== "plain") &&
        (pattern.program === undefined || words[0]?.value === pattern.program)
      );
  }
}

const isPlainly = (word: ShellWord | undefined, value: string): boolean =>
  word?.kind === "plain" && word.value === value;

interface Within {
  readonly commands: (readonly ShellWord[])[];
  /** `unclear`: there may be other commands in it. */
  sight: "clear" | "unclear";
}

/** Also what a program would run that is given a command, and programs by their bare name. */
function commandsWithin(source: string, nestingLeft: number): Within {
  const within: Within = { commands: [], sight: "clear" };
  const line = parseLine(source);
  if (line.kind === "unclear" || nestingLeft === 0) return { ...within, sight: "unclear" };
  // Without a script of its own something in it was not parsed.
  if (line.beyond.has("CommandExpansion") || line.beyond.has("ProcessSubstitution")) within.sight = "unclear";
  for (const { words } of line.commands) {
    const [name, ...args] = words;
    if (name === undefined) continue;
    within.commands.push(words, [bareName(name), ...args]);
    if (name.kind !== "plain" || isFedProgram(bareName(name).value, args)) within.sight = "unclear";
    if (!runners.has(bareName(name).value)) continue;
    for (const [index, arg] of args.entries()) {
      within.commands.push([bareName(arg), ...args.slice(index + 1)]);
      if (arg.kind === "dynamic") within.sight = "unclear";
      if (arg.kind !== "plain" || !isScript(bareName(name).value, arg.value)) continue;
      const inner = commandsWithin(arg.value, nestingLeft - 1);
      within.commands.push(...inner.commands);
      if (inner.sight === "unclear") within.sight = "unclear";
    }
  }
  return within;
}

const bareName = (word: ShellWord): ShellWord => ({
  ...word,
  value: word.value.slice(word.value.lastIndexOf("/") + 1),
});

/** A shell takes any word for a line, the others only pass on what is one. */
const isScript = (program: string, arg: string): boolean =>
  /\s/.test(arg) || (shells.has(program) && /[^\w%+,./:=@-]/.test(arg));

/** Whether the command it runs comes from its input. */
function isFedProgram(program: string, args: readonly ShellWord[]): boolean {
  if (feeders.has(program)) return args.some((arg) => arg.value.includes("{}") || runners.has(bareName(arg).value));
  return inputShells.has(program) && args.every(({ value }) => value.startsWith("-"));
}

const feeders: ReadonlySet<string> = new Set(["parallel", "xargs"]);
const inputShells: ReadonlySet<string> = new Set(["bash", "dash", "ksh", "sh", "zsh"]);
const shells: ReadonlySet<string> = new Set([...inputShells, "busybox", "eval", "trap"]);

/** Programs whose arguments are a program. */
const runners: ReadonlySet<string> = new Set([
  ...shells,
  ...feeders,
  ...(
    "builtin chroot chrt command doas env exec find flock ionice nice nohup script setsid stdbuf strace su sudo " +
    "taskset time timeout unshare watch"
  ).split(" "),
]);

import { shellNestingMax } from "../limits.ts";
import { parseLine, type ShellRedirect } from "./line.ts";
import type { ShellWord } from "./word.ts";

export interface Within {
  readonly commands: (readonly ShellWord[])[];
  readonly redirects: ShellRedirect[];
  /** Names of variables that are set. */
  readonly assigns: Set<string>;
  /** `unclear`: there may be other commands in it. */
  sight: "clear" | "unclear";
}

/** Every command of a line, also what a program would run that is given a command, and programs by their bare name. */
export const commandsWithin = (source: string): Within => within(source, shellNestingMax);

function within(source: string, nestingLeft: number): Within {
  const found: Within = { commands: [], redirects: [], assigns: new Set(), sight: "clear" };
  const line = parseLine(source);
  if (line.kind === "unclear" || nestingLeft === 0) return { ...found, sight: "unclear" };
  // Without a script of its own something in it was not parsed.
  if (line.beyond.has("CommandExpansion") || line.beyond.has("ProcessSubstitution")) found.sight = "unclear";
  found.redirects.push(...line.redirects);
  for (const variable of line.sets) found.assigns.add(variable);
  for (const { words, assigns } of line.commands) {
    for (const variable of assigns) found.assigns.add(variable);
    const [name, ...args] = words;
    if (name === undefined) continue;
    add(found, words);
    if (name.kind !== "plain" || isFedProgram(bareName(name).value, args)) found.sight = "unclear";
    if (!runners.has(bareName(name).value)) continue;
    for (const [index, arg] of args.entries()) {
      add(found, [arg, ...args.slice(index + 1)]);
      if (arg.kind === "dynamic") found.sight = "unclear";
      if (arg.kind !== "plain" || !isScript(bareName(name).value, arg.value)) continue;
      const inner = within(arg.value, nestingLeft - 1);
      found.commands.push(...inner.commands);
      found.redirects.push(...inner.redirects);
      for (const variable of inner.assigns) found.assigns.add(variable);
      if (inner.sight === "unclear") found.sight = "unclear";
    }
  }
  return found;
}

/** As it stands, by its bare name, and git without what stands before its subcommand. */
function add(found: Within, [name, ...args]: readonly [ShellWord, ...ShellWord[]] | readonly ShellWord[]): void {
  if (name === undefined) return;
  const bare = bareName(name);
  found.commands.push([name, ...args]);
  if (bare.value !== name.value) found.commands.push([bare, ...args]);
  if (bare.value !== "git") return;
  const git = gitParts(args);
  found.commands.push([bare, ...git.rest]);
  if (git.settings.some((setting) => setting.kind !== "plain" || /^alias\./i.test(setting.value)))
    found.sight = "unclear";
}

export interface GitParts {
  /** The subcommand and its arguments. */
  readonly rest: readonly ShellWord[];
  /** Where `-C` leads, in order. */
  readonly folders: readonly ShellWord[];
  /** Given by `-c`; an alias among them may be any subcommand. */
  readonly settings: readonly ShellWord[];
}

/** `git -C folder -c key=value --no-pager push` is a `git push`. */
export function gitParts(args: readonly ShellWord[]): GitParts {
  const folders: ShellWord[] = [];
  const settings: ShellWord[] = [];
  let at = 0;
  for (; args[at]?.kind === "plain" && args[at]?.value.startsWith("-") === true; at += 1) {
    const option = args[at]?.value ?? "";
    const value = args[at + 1];
    if (!gitValueOptions.has(option)) continue;
    at += 1;
    if (value === undefined) break;
    if (option === "-C") folders.push(value);
    if (option === "-c" || option === "--config-env") settings.push(value);
  }
  return { rest: args.slice(at), folders, settings };
}

/** Whose value is a word of its own. */
const gitValueOptions: ReadonlySet<string> = new Set(
  "-C -c --attr-source --config-env --git-dir --namespace --super-prefix --work-tree".split(" "),
);

export const bareName = (word: ShellWord): ShellWord => ({
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

export const feeders: ReadonlySet<string> = new Set(["parallel", "xargs"]);
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

import type { ShellWord } from "./word.ts";

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

import { isAbsolute, delimiter } from "node:path";
import { safeGitEnvironment } from "../../schema/safe-git.ts";
import { isInsideAny } from "../inside.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys by which this engine reaches models and stores: no command of the agent needs them. */
const secretNames: readonly RegExp[] = [
  /^(ANTHROPIC|CLAUDE|OPENAI|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE_API|MISTRAL|PALIMPSEST)\w*_(KEY|TOKEN|SECRET|PASSWORD|HEADERS|DSN)$/i,
  /^GOOGLE_API_KEY$/i,
  /^PALIMPSEST_\w*(POSTGRES|DATABASE)\w*$/i,
  /^AWS_BEARER_TOKEN_BEDROCK$/i,
];

export const isSecretName = (name: string): boolean => secretNames.some((form) => form.test(name));

export interface ShellSetting {
  readonly env: Environment;
  readonly effect: "read-only" | "unknown";
  readonly roots: readonly string[];
}

/**
 * What a command sees. A read-only one runs without a person's word, so its programs come from the system: not from
 * folders of the project, where the agent may have put a program called `ls`, and git starts none that a repository
 * names.
 */
export function shellEnvironment({ env, effect, roots }: ShellSetting): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !isSecretName(name) && !leadingNames.has(name)) passed[name] = value;
  }
  if (effect === "unknown") return passed;
  for (const name of Object.keys(passed)) if (startNames.test(name)) delete passed[name];
  const path = passed["PATH"];
  if (path !== undefined) passed["PATH"] = systemPath(path, roots);
  return safeGitEnvironment(passed);
}

/** Files that the shell runs before the line, functions under the name of a program, and another language. */
const startNames = /^(?:BASH_ENV|ENV|BASH_FUNC_.*|BASH_COMPAT|POSIXLY_CORRECT)$/;

/**
 * By which a `cd` leads where the line does not say, or a pattern finds names that it does not show. The shell finds out
 * by itself where it is.
 */
const leadingNames: ReadonlySet<string> = new Set(["BASHOPTS", "CDPATH", "GLOBIGNORE", "OLDPWD", "PWD", "SHELLOPTS"]);

const systemPath = (path: string, roots: readonly string[]): string =>
  path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isInsideAny(folder, roots))
    .join(delimiter);

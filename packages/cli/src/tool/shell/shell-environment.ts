import { isAbsolute, delimiter } from "node:path";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { isInsideAny } from "../resolve-real-path.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys by which this engine reaches models and stores: no command, hook or server needs them. */
const ownSecretForms: readonly RegExp[] = [
  /^(ANTHROPIC|CLAUDE|OPENAI|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE_API|MISTRAL|PALIMPSEST)\w*_(KEY|TOKEN|SECRET|PASSWORD|HEADERS|DSN)$/i,
  /^GOOGLE_API_KEY$/i,
  /^PALIMPSEST_\w*(POSTGRES|DATABASE)\w*$/i,
  /^AWS_BEARER_TOKEN_BEDROCK$/i,
];

export const isOwnSecret = (name: string): boolean => ownSecretForms.some((form) => form.test(name));

/** As people name what must not be known, and by which programs reach an agent that signs or answers for its user. */
const secretForms: readonly RegExp[] = [
  /(^|_)(KEY|TOKEN|SECRETS?|PASS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|CREDS|DSN|PAT|AUTH|AUTHTOKEN|COOKIE)$/i,
  /(API_?KEY|PASSWORD|_PWD)$/i,
  /_(SECRET|WEBHOOK|CONNECTION_STRING|CONNECTIONSTRING)(_\w+)?$/i,
  /^AWS_(ACCESS_KEY_ID|CONTAINER_CREDENTIALS_\w+|CONTAINER_AUTHORIZATION_\w+|WEB_IDENTITY_TOKEN_FILE)$/i,
  /^(SSH|GIT|SUDO)_ASKPASS$|^VSCODE_GIT_|^(SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS|KRB5CCNAME)$/i,
];

/** `scheme://user:password@host`: of a database, a cache, a proxy, a registry. */
const withPassword = /^[a-z][a-z\d+.-]*:\/\/[^/?#@\s]*:[^/?#@\s]+@/i;

export const isSecret = (name: string, value: string): boolean =>
  isOwnSecret(name) || secretForms.some((form) => form.test(name)) || withPassword.test(value);

/** Whether a command may have a variable with this value in its environment. */
export type MayPass = (name: string, value: string) => boolean;

/**
 * What a command sees. A read-only one runs without a person's word, so its programs come from the system: not from
 * folders of the project, where the agent may have put a program called `ls`, and git starts none that a repository
 * names.
 */
export function shellEnvironment({
  env,
  effect,
  roots,
  mayPass,
}: {
  readonly env: Environment;
  readonly effect: "read-only" | "unknown";
  readonly roots: readonly string[];
  readonly mayPass: MayPass;
}): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && mayPass(name, value) && !leadingNames.has(name)) passed[name] = value;
  }
  if (effect === "unknown") return passed;
  for (const name of Object.keys(passed)) if (startNames.test(name)) delete passed[name];
  const path = passed["PATH"];
  if (path !== undefined) passed["PATH"] = systemPath(path, roots);
  return safeGitEnvironment(passed);
}

/** Files that the shell runs before the line, functions under the name of a program, and another language. */
const startNames = /^(?:BASH_ENV|ENV|BASH_FUNC_.*|BASH_COMPAT|POSIXLY_CORRECT)$/;

interface WithheldInput {
  readonly env: Environment;
  readonly mayPass: MayPass;
  /** The command and its output. */
  readonly text: string;
}

/** For the model, about a command that failed: which variables it names and did not have. Empty if there are none. */
export function noteWithheld({ env, mayPass, text }: WithheldInput): string {
  const words = new Set(text.match(/\w+/g));
  const withheld = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && words.has(name) && !mayPass(name, value) ? [name] : [],
  );
  const [first] = withheld;
  if (first === undefined) return "";
  const are = withheld.length === 1 ? `${first} is` : `${withheld.join(", ")} are`;
  return `${are} not in the environment of commands; a rule Env(${first}) in permissions.allow would pass it`;
}

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

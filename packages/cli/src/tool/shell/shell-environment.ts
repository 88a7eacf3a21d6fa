import { isAbsolute, delimiter } from "node:path";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { isInsideAny } from "../resolve-real-path.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys of this engine to models and stores: no command, hook or server needs them. */
const ownSecretForms: readonly RegExp[] = [
  /^(ANTHROPIC|CLAUDE|OPENAI|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE_API|MISTRAL|PALIMPSEST)\w*_(KEY|TOKEN|SECRET|PASSWORD|HEADERS|DSN)$/i,
  /^GOOGLE_API_KEY$/i,
  /^PALIMPSEST_\w*(POSTGRES|DATABASE)\w*$/i,
  /^AWS_BEARER_TOKEN_BEDROCK$/i,
];

export const isOwnSecret = (name: string): boolean => ownSecretForms.some((form) => form.test(name));

/** Usual names of secrets, and of sockets to agents that sign or answer for the user. */
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

/** Whether a command may get a variable with this value. */
export type MayPass = (name: string, value: string) => boolean;

/**
 * The environment of a command. A read-only command runs without asking, so its programs must come from the system: not
 * from folders of the project, where the agent may have put a program called `ls`. For the same reason git must not
 * start programs that a repository names.
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

/** Scripts that the shell runs before the line, functions that hide programs, and other shell dialects. */
const startNames = /^(?:BASH_ENV|ENV|BASH_FUNC_.*|BASH_COMPAT|POSIXLY_CORRECT)$/;

interface WithheldInput {
  readonly env: Environment;
  readonly mayPass: MayPass;
  /** The command and its output. */
  readonly text: string;
}

/** A note for the model about a failed command: which withheld variables it mentions. Empty if there are none. */
export function noteWithheld({ env, mayPass, text }: WithheldInput): string {
  const mentioned = new Set(text.match(/\w+/g));
  const withheld = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && mentioned.has(name) && !mayPass(name, value) ? [name] : [],
  );
  const [first] = withheld;
  if (first === undefined) return "";
  const subject = withheld.length === 1 ? `${first} is` : `${withheld.join(", ")} are`;
  return `${subject} not in the environment of commands; a rule Env(${first}) in permissions.allow would pass it`;
}

/**
 * Variables that make a `cd` lead elsewhere, or a pattern match other names, than the line shows. The shell determines
 * its folder itself.
 */
const leadingNames: ReadonlySet<string> = new Set(["BASHOPTS", "CDPATH", "GLOBIGNORE", "OLDPWD", "PWD", "SHELLOPTS"]);

const systemPath = (path: string, roots: readonly string[]): string =>
  path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isInsideAny(folder, roots))
    .join(delimiter);

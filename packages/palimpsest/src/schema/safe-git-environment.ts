type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment for a git command that nobody was asked about. Settings given here count before those of the
 * repository, so that its configuration starts no program, with two exceptions. Diff drivers are turned off by
 * `safeDiffOptions` alone. Filters have names that only the repository knows and can't be turned off: before a command
 * that compares files on disk (`status`, `diff`) the repository's configuration has to be looked into.
 */
export function safeGitEnvironment(env: Environment): Record<string, string> {
  const safe: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (!name.startsWith("GIT_") || keptNames.has(name))) safe[name] = value;
  }
  if (safe["PATH"] !== undefined) safe["PATH"] = absoluteEntries(safe["PATH"]);
  const settings = Object.entries(safeSettings);
  for (const [index, [key, value]] of settings.entries()) {
    safe[`GIT_CONFIG_KEY_${index}`] = key;
    safe[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return { ...safe, ...safeVariables, GIT_CONFIG_COUNT: String(settings.length) };
}

/** A relative entry names a folder of the project that git is run in, where anything may be called git. */
const absoluteEntries = (path: string): string => {
  const separator = /^[A-Za-z]:[\\/]/.test(path) ? ";" : ":";
  return path
    .split(separator)
    .filter((entry) => /^([\\/]|[A-Za-z]:[\\/])/.test(entry))
    .join(separator);
};

/** For `git diff`, `show` and `log`. No setting turns a driver off: an empty one makes git fail. */
export const safeDiffOptions: readonly string[] = ["--no-ext-diff", "--no-textconv"];

/** Other variables of git name another repository, programs or settings. These say where the user's own settings are. */
const keptNames: ReadonlySet<string> = new Set([
  "GIT_CEILING_DIRECTORIES",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_NOSYSTEM",
  "GIT_CONFIG_SYSTEM",
]);

const safeVariables: Readonly<Record<string, string>> = {
  // No protocol has this name, so nothing is fetched, whatever transport the repository's settings name.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_ASKPASS: "false",
  GIT_EDITOR: "false",
  GIT_NO_LAZY_FETCH: "1",
  // No index is written, so no hook is run behind it.
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};

/** `false` is a program that does nothing; as a setting of `core.fsmonitor` it is no program. */
const safeSettings: Readonly<Record<string, string>> = {
  "core.askPass": "false",
  "core.editor": "false",
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.pager": "cat",
  "core.sshCommand": "false",
  "credential.helper": "",
  "diff.submodule": "short",
  // Signatures are checked by a program.
  "gpg.program": "false",
  "gpg.openpgp.program": "false",
  "gpg.ssh.defaultKeyCommand": "false",
  "gpg.ssh.program": "false",
  "gpg.x509.program": "false",
  "log.showSignature": "false",
  "protocol.allow": "never",
  // A folder that only looks like the inside of a repository can be part of a project.
  "safe.bareRepository": "explicit",
  "status.submoduleSummary": "false",
  "submodule.recurse": "false",
};

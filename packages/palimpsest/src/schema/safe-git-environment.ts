type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment for a git command that the user was not asked about. Its settings override those of the repository,
 * so that the repository's configuration can start no program, with two exceptions. Diff drivers are turned off only by
 * `safeDiffOptions`. Filters have names that only the repository knows and can't be turned off: before a command that
 * compares files on disk (`status`, `diff`) the caller has to inspect the repository's configuration.
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

/** Drops relative entries: they name a folder of the project that git runs in, where any file may be called git. */
const absoluteEntries = (path: string): string => {
  const separator = /^[A-Za-z]:[\\/]/.test(path) ? ";" : ":";
  return path
    .split(separator)
    .filter((entry) => /^([\\/]|[A-Za-z]:[\\/])/.test(entry))
    .join(separator);
};

/** For `git diff`, `show` and `log`. No setting turns a driver off: an empty driver makes git fail. */
export const safeDiffOptions: readonly string[] = ["--no-ext-diff", "--no-textconv"];

/** Git's other variables name another repository, programs or settings. These say where the user's own settings are. */
const keptNames: ReadonlySet<string> = new Set([
  "GIT_CEILING_DIRECTORIES",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_NOSYSTEM",
  "GIT_CONFIG_SYSTEM",
]);

const safeVariables: Readonly<Record<string, string>> = {
  // No protocol has this name, so nothing is fetched, whatever transport the repository's configuration names.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_ASKPASS: "false",
  GIT_EDITOR: "false",
  GIT_NO_LAZY_FETCH: "1",
  // No index is written, so no hook runs after it.
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};

/** `false` is a program that does nothing; for `core.fsmonitor` it means that no program runs. */
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

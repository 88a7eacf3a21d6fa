import { join } from "node:path";

/**
 * Files and folders of a user that hold credentials, or the data and actions of the user's other programs. Commands see
 * none of them. They are listed one by one: the home folder as a whole also holds tools, caches and configuration that
 * commands need.
 */
const inHome: readonly string[] = [
  // Keys and passwords.
  ".ssh",
  ".gnupg",
  ".netrc",
  "_netrc",
  ".git-credentials",
  ".config/git/credentials",
  ".password-store",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".config/op",
  ".config/Bitwarden",
  ".config/Bitwarden CLI",
  ".config/keepassxc",
  ".vault-token",
  ".pgpass",
  ".my.cnf",
  ".mylogin.cnf",
  ".config/rclone",
  ".config/sops",
  ".config/age",
  // Clouds and code hosts.
  ".aws",
  ".azure",
  ".config/gcloud",
  ".kube",
  ".docker",
  ".config/containers/auth.json",
  ".oci",
  ".config/gh",
  ".config/glab-cli",
  ".config/hub",
  ".config/doctl",
  ".config/heroku",
  ".config/fly",
  ".fly",
  ".config/netlify",
  ".vercel",
  ".local/share/com.vercel.cli",
  ".terraform.d/credentials.tfrc.json",
  ".terraformrc",
  ".pulumi/credentials.json",
  // Package registries.
  ".npmrc",
  ".yarnrc",
  ".yarnrc.yml",
  ".pypirc",
  ".config/pip/pip.conf",
  ".pip/pip.conf",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".bundle/config",
  ".composer/auth.json",
  ".config/composer/auth.json",
  ".m2/settings.xml",
  ".m2/settings-security.xml",
  ".gradle/gradle.properties",
  ".nuget/NuGet/NuGet.Config",
  ".huggingface/token",
  ".cache/huggingface/token",
  ".cache/huggingface/stored_tokens",
  // Histories of shells and programs.
  ".bash_history",
  ".zsh_history",
  ".zsh_sessions",
  ".local/share/fish/fish_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".sqlite_history",
  ".lesshst",
  ".viminfo",
  // Profiles of browsers and mail programs.
  ".mozilla",
  ".thunderbird",
  ".config/google-chrome",
  ".config/google-chrome-beta",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/vivaldi",
  ".config/opera",
  ".cache/mozilla",
  ".cache/google-chrome",
  ".cache/chromium",
  "snap/firefox",
  "snap/chromium",
  ".var/app",
  "Library/Application Support/Google/Chrome",
  "Library/Application Support/Chromium",
  "Library/Application Support/Firefox",
  "Library/Application Support/BraveSoftware",
  "Library/Application Support/Microsoft Edge",
  "Library/Application Support/Arc",
  "Library/Safari",
  "Library/Cookies",
  "Library/Mail",
  "Library/Messages",
  "Library/Keychains",
  // Other agents, and this one if its home is in the default place.
  ".palimpsest",
  ".claude",
  ".claude.json",
  ".config/claude",
  ".codex",
  ".gemini",
  ".qwen",
  ".pi",
  ".config/opencode",
  ".local/share/opencode",
  ".config/goose",
  ".local/share/goose",
  ".config/crush",
  ".local/share/crush",
  ".aider",
  ".aider.conf.yml",
  ".continue",
  ".cursor",
  ".config/Cursor",
  ".windsurf",
  ".codeium",
  ".amp",
  ".config/amp",
  ".local/share/amp",
  ".factory",
  ".cline",
  ".roo",
  ".config/github-copilot",
  ".copilot",
  ".config/Code/User/globalStorage",
];

/** Readable for root, which may be the user in a container. */
const ofSystem: readonly string[] = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/ssl/private",
  "/etc/krb5.keytab",
];

/** Variables that move files away from the folders listed above. */
const namedByEnv: readonly string[] = [
  "PALIMPSEST_HOME",
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "GNUPGHOME",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_CONFIG_FILE",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "CLOUDSDK_CONFIG",
  "AZURE_CONFIG_DIR",
  "KUBECONFIG",
  "DOCKER_CONFIG",
  "GH_CONFIG_DIR",
  "NETRC",
  "NPM_CONFIG_USERCONFIG",
  "npm_config_userconfig",
  "PGPASSFILE",
  "HISTFILE",
  "PASSWORD_STORE_DIR",
];

/** As named: for a link, its target has to be hidden. */
export const secretPaths = ({
  home,
  env,
}: {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}): readonly string[] => [
  ...inHome.map((path) => join(home, path)),
  ...ofSystem,
  ...namedByEnv.flatMap((name) => (env[name] ?? "").split(":").filter((path) => path.startsWith("/") && path !== "/")),
];

/** Read by agents and editors when they open the project, and name programs that those start. */
const settingsNames: readonly string[] = [".claude", ".mcp.json", ".palimpsest", ".vscode", ".idea"];

/**
 * Scripts that git is commonly configured to run. Protected if they exist, even before any configuration names them.
 */
const hookNames: readonly string[] = [".husky", ".githooks"];

/** Read by shells, desktops and git from the home folder, which may be the project or be inside it. */
const startUpNames: readonly string[] = [
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".inputrc",
  ".gitconfig",
  ".npmrc",
  ".config/git",
  ".config/fish",
  ".config/autostart",
  ".config/systemd",
  ".config/environment.d",
  ".local/bin",
  "bin",
];

interface PathsToProtectInput {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
}

/**
 * What a command must not change although it may write in the folders around it, because other programs would later run
 * it outside the sandbox. Includes files that don't exist yet. Pure; `gitFolders` lists git's files.
 */
export const pathsToProtect = ({ roots, home }: PathsToProtectInput): readonly string[] => [
  ...roots.flatMap((root) => settingsNames.map((name) => join(root, name))),
  ...startUpNames.map((name) => join(home, name)),
];

/** Settings of other agents and editors. Covering each missing one would cost every command a mount. */
const otherSettingsNames: readonly string[] = [
  ".cursor",
  ".gemini",
  ".codex",
  ".opencode",
  ".zed",
  ".devcontainer",
  ".envrc",
];

/** Likewise, but only if they exist. */
export const pathsToProtectIfPresent = ({ roots }: Pick<PathsToProtectInput, "roots">): readonly string[] =>
  roots.flatMap((root) => [...hookNames, ...otherSettingsNames].map((name) => join(root, name)));

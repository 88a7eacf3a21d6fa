import { join } from "node:path";

/**
 * Files and folders of a user that hold credentials, or what other programs of theirs know and do. Commands see none of
 * them. Named one by one: a home folder as a whole also holds the tools, caches and configuration that commands need.
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
  // Clouds and hosts of code.
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
  // Registries of packages.
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
  // What was typed, into shells and programs.
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
  // Profiles of browsers and mail.
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
  // Other agents, and this one where its home is at its usual place.
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

/** Readable for root, who may be the user in a container. */
const ofSystem: readonly string[] = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/ssl/private",
  "/etc/krb5.keytab",
];

/** By which programs keep their files elsewhere than in the folder that is named above. */
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

/** As they are named: a link among them leads to what is to be hidden. */
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

/** Scripts that git is commonly set to run. Also where no configuration says so yet: then they are held if they are there. */
const hookNames: readonly string[] = [".husky", ".githooks"];

/** Read by shells, desktops and git from the home folder, which may be the project or lie in it. */
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
 * What a command must not change although it may write in the folders around it, as other programs would run what it
 * says: outside of the sandbox, and later. Also what is not there yet. Pure; git's files are told by `gitFolders`.
 */
export const pathsToProtect = ({ roots, home }: PathsToProtectInput): readonly string[] => [
  ...roots.flatMap((root) => settingsNames.map((name) => join(root, name))),
  ...startUpNames.map((name) => join(home, name)),
];

/** Of other agents and editors. A cover for each that is not there would cost every command a mount. */
const otherSettingsNames: readonly string[] = [
  ".cursor",
  ".gemini",
  ".codex",
  ".opencode",
  ".zed",
  ".devcontainer",
  ".envrc",
];

/** Likewise, but only while they are there. */
export const pathsToProtectIfPresent = ({ roots }: Pick<PathsToProtectInput, "roots">): readonly string[] =>
  roots.flatMap((root) => [...hookNames, ...otherSettingsNames].map((name) => join(root, name)));

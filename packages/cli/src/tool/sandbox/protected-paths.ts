import { join } from "node:path";

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

export interface ProtectedPlaces {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
}

/**
 * What a command must not change although it may write in the folders around it, as other programs would run what it
 * says: outside of the sandbox, and later. Also what is not there yet. Pure; git's files are told by `gitFolders`.
 */
export const protectedPaths = ({ roots, home }: ProtectedPlaces): readonly string[] => [
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
export const protectedIfThere = ({ roots }: Pick<ProtectedPlaces, "roots">): readonly string[] =>
  roots.flatMap((root) => [...hookNames, ...otherSettingsNames].map((name) => join(root, name)));

import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../failure.ts";

/** Read by agents and editors when they open the project, and name programs that those start. */
const settingsNames: readonly string[] = [".claude", ".mcp.json", ".palimpsest", ".vscode", ".idea"];

/** Read by shells and git, where the project is the home folder. */
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
  ".gitconfig",
  ".config/git",
  ".config/fish",
  ".config/autostart",
  ".config/systemd",
  ".local/bin",
  "bin",
];

/**
 * What a command must not change although it may write in the folders around it, as other programs would run what it
 * says: outside of the sandbox, and later. Also what is not there yet.
 */
export async function protectedPaths({ roots, home }: ProtectedPlaces): Promise<readonly string[]> {
  const found = await Promise.all(roots.map(gitPaths));
  return [
    ...roots.flatMap((root) => settingsNames.map((name) => join(root, name))),
    ...startUpNames.map((name) => join(home, name)),
    ...found.flat(),
  ];
}

interface ProtectedPlaces {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
}

async function gitPaths(root: string): Promise<readonly string[]> {
  const git = join(root, ".git");
  return (await isFolder(git)) ? [join(git, "hooks"), join(git, "config")] : [git];
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return false;
  }
}

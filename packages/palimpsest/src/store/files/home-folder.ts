import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** `PALIMPSEST_HOME`, else `~/.palimpsest`. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string {
  const set = env["PALIMPSEST_HOME"];
  if (set !== undefined && set !== "") return resolve(set);
  return join(env["HOME"] || homedir(), ".palimpsest");
}

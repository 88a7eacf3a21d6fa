import { lstat, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { type Resolved, resolveReal } from "../confine.ts";
import { codeOf } from "../failure.ts";
import { isSpecial } from "../inside.ts";
import { linksFollowedMax } from "../limits.ts";

/**
 * Where a name leads that another process is going to open. What lies in `/proc` and `/dev` is another thing for each
 * process, so a name that passes through them ends there, as text, whether or not this process sees such a file.
 */
export async function resolveElsewhere(named: string, base: string): Promise<Resolved> {
  if (named === "" || named.includes("\0")) return await resolveReal(named, base);
  const special = await specialPath(isAbsolute(named) ? named : `${base}/${named}`);
  return special === undefined ? await resolveReal(named, base) : { kind: "real", path: special, exists: true };
}

/** What a process was given, or nothing: no file that it could not write or read otherwise. */
export const isStream = (path: string): boolean =>
  /^\/dev\/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd\/\d+)$/.test(path);

/** Follows the links one by one, as the system does, until it comes to such a folder. */
async function specialPath(path: string): Promise<string | undefined> {
  let at = "/";
  let left = namesIn(path);
  let linksLeft = linksFollowedMax;
  for (let [name, ...rest] = left; name !== undefined; [name, ...rest] = left) {
    const here = name === ".." ? dirname(at) : join(at, name);
    if (isSpecial(here)) return [here, ...rest].join("/");
    const target = name === ".." ? undefined : await linkTarget(here);
    if (target === undefined) {
      [at, left] = [here, rest];
      continue;
    }
    if (linksLeft === 0) return undefined;
    linksLeft -= 1;
    if (isAbsolute(target)) at = "/";
    left = [...namesIn(target), ...rest];
  }
  return undefined;
}

const namesIn = (path: string): readonly string[] => path.split("/").filter((name) => name !== "" && name !== ".");

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}

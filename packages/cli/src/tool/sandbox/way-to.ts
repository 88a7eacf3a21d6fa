import { readlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../failure.ts";
import { linksOnWayMax } from "./limits.ts";

/**
 * Every symbolic link that is passed on the way to a path, by its real place, and then where the path leads: a program that
 * could replace one of them would lead it somewhere else. What is not there counts by its name. At once, as a name costs
 * some microseconds.
 */
export function wayTo(path: string): readonly string[] {
  const links: string[] = [];
  const left = namesIn(resolve(path));
  let place = "/";
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = name === ".." ? dirname(place) : join(place, name);
    const target = links.length < linksOnWayMax ? linkTarget(next) : undefined;
    if (target === undefined) place = next;
    else {
      links.push(next);
      left.unshift(...namesIn(target));
      if (target.startsWith("/")) place = "/";
    }
  }
  return [...links, place];
}

const namesIn = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

/** Undefined if it is no link. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}

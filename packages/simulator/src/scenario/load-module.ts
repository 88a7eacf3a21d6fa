import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Runs a module that a person named and gives its exports. The only import whose name is not written out: what it loads
 * is no part of this program, so the map has nothing to say about it.
 */
export const loadModule = async (file: string): Promise<unknown> =>
  import(/* @vite-ignore */ pathToFileURL(resolve(file)).href);

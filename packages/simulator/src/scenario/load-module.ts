import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Runs a module that the user named and returns its exports. This is the only import with a computed name: what it
 * loads is not part of this program, so the check of the module map does not apply to it.
 */
export const loadModule = async (file: string): Promise<unknown> =>
  import(/* @vite-ignore */ pathToFileURL(resolve(file)).href);

import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "../error-code.ts";
import { isSpecialPath } from "../resolve-real-path.ts";
import { shellLookupsMax } from "../limits.ts";
import { isOtherHome, namesFor, isStream, resolveForProcess } from "./expand.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import { resolveFolders } from "./resolve-reads.ts";
import type { ShellWord } from "./shell-word.ts";
import type { LineWrites, WrittenWord } from "./analyze-writes.ts";

interface ShellWrites {
  readonly files: readonly ShellWrite[];
  readonly sight: "known" | "unclear";
}

interface ShellWrite {
  /** A real path; for a link also the link's own path, since it may be replaced as well as followed. */
  readonly path: string;
  readonly reach: "itself" | "below";
}

/** What a line is known to change, so that the same rules apply to its files as to those of the write tool. */
export async function resolveWrites(writing: LineWrites, { cwd, home }: ShellLocation): Promise<ShellWrites> {
  const unclear: ShellWrites = { files: [], sight: "unclear" };
  const { values } = writing;
  const places = writing.folders.map((word) => withPlaces(word, { cwd, home, values }));
  const plain = places.filter((words) => words.every(({ kind }) => kind === "plain"));
  const folders = await resolveFolders(plain, { cwd, home });
  const words = writing.named.flatMap(({ word }) => withPlaces(word, { cwd, home, values }));
  if (folders === undefined || folders.length * words.length > shellLookupsMax) return unclear;
  let areWritesKnown = writing.sight === "clear" && plain.length === places.length;
  const writeByKey = new Map<string, ShellWrite>();
  for (const folder of folders) {
    for (const one of writing.named) {
      const names = await resolveNames(one, { cwd: folder, home, values });
      if (names === undefined) areWritesKnown = false;
      for (const name of names ?? []) {
        for (const path of await resolvePaths(name, folder)) {
          const reach = await resolveReach(one, path);
          if (!isSpecialPath(path)) writeByKey.set(`${reach} ${path}`, { path, reach });
          else if (!isStream(path)) areWritesKnown = false;
        }
      }
    }
  }
  return { files: [...writeByKey.values()], sight: areWritesKnown ? "known" : "unclear" };
}

/** Undefined if unknown. */
async function resolveNames(
  { word, nameOf, suffix = "" }: WrittenWord,
  context: WordContext,
): Promise<readonly string[] | undefined> {
  const names = await wordNames(word, context);
  if (nameOf === undefined) return names?.map((name) => name + suffix);
  const lastNames = await wordNames(nameOf, context);
  return (
    names &&
    lastNames &&
    names.flatMap((name) => [...new Set(lastNames.map((last) => join(name, basename(last) + suffix)))])
  );
}

async function wordNames(writtenWord: ShellWord, context: WordContext): Promise<readonly string[] | undefined> {
  const found = await Promise.all(withPlaces(writtenWord, context).map((word) => namesFor(word, context)));
  const names = found.includes(undefined) ? undefined : found.flatMap((one) => one ?? []);
  // What a program substitutes for the braces is unknown.
  return names?.some((name) => name.includes("{}") || isOtherHome(name)) === true ? undefined : names;
}

async function resolvePaths(name: string, cwd: string): Promise<readonly string[]> {
  if (name === "" || name.includes("\0")) return [];
  const followed = await resolveForProcess(name, cwd);
  const last = basename(name);
  const folder = last === ".." || last === "." ? undefined : await resolveForProcess(parentName(name), cwd);
  return [
    ...(followed.kind === "real" ? [followed.path] : []),
    ...(folder?.kind === "real" ? [join(folder.path, last)] : []),
  ];
}

function parentName(name: string): string {
  const trimmed = name.replace(/\/+$/, "");
  const slash = trimmed.lastIndexOf("/");
  return slash === -1 ? "." : slash === 0 ? "/" : trimmed.slice(0, slash);
}

async function resolveReach({ reach }: WrittenWord, path: string): Promise<ShellWrite["reach"]> {
  if (reach !== "new") return reach;
  try {
    return (await stat(path)).isDirectory() ? "itself" : "below";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return "below";
  }
}

import { dirname, join } from "node:path";
import type { ShellDisclosure, DisclosedFile } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath, isFolder } from "../resolve-real-path.ts";
import { shellLookupsMax } from "../limits.ts";
import { isOtherHome, namesFor, isStream, resolveForProcess } from "./expand.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import { resolveFolders, spellings } from "./resolve-reads.ts";
import type { LineShows } from "./analyze-shows.ts";
import type { ShownWord } from "./analyze-git-shows.ts";

const unknownShows: ShellDisclosure = { files: [], others: "perhaps" };

/** Which files a line may show, by real path. Cost: a few disk lookups per word. */
export async function resolveShows(showing: LineShows, { cwd, home }: ShellLocation): Promise<ShellDisclosure> {
  const { values, named } = showing;
  const places = showing.folders.map((word) => withPlaces(word, { cwd, home, values }));
  const folders = await resolveFolders(places, { cwd, home });
  if (folders === undefined) return unknownShows;
  const fileByKey = new Map<string, DisclosedFile>();
  let others = showing.others;
  let lookupsLeft = shellLookupsMax;
  for (const folder of folders) {
    for (const shown of named) {
      const candidates = await findCandidates(shown, { cwd: folder, home, values });
      lookupsLeft -= candidates?.length ?? 0;
      if (lookupsLeft < 0) return unknownShows;
      if (candidates === undefined) others = "perhaps";
      for (const candidate of candidates ?? []) {
        const file = await resolveCandidate(candidate, shown);
        if (file !== undefined && isSpecialPath(file.path)) others = isStream(file.path) ? others : "perhaps";
        else if (file !== undefined) fileByKey.set(`${file.reach} ${file.sight} ${file.path}`, file);
      }
    }
  }
  return { files: [...fileByKey.values()], others };
}

interface ShownCandidate {
  readonly name: string;
  readonly folder: string;
  /** `part`: part of a word that may be a text. */
  readonly of: "word" | "part";
}

/** Undefined if the word's expansion is unknown. */
async function findCandidates(
  { word, as }: ShownWord,
  context: WordContext,
): Promise<readonly ShownCandidate[] | undefined> {
  const candidates: ShownCandidate[] = [];
  for (const one of withPlaces(word, context)) {
    const names = await namesFor(one, context);
    if (names === undefined || names.some(isOtherHome)) return undefined;
    const whole = new Set(names.flatMap((name) => spellings(name)));
    const parts =
      as === "name" ? [] : names.flatMap((name) => name.split(separators)).filter((part) => !whole.has(part));
    const folders = as === "history" ? [context.cwd, await findRepository(context.cwd)] : [context.cwd];
    for (const folder of new Set(folders)) {
      candidates.push(...[...whole].map((name): ShownCandidate => ({ name, folder, of: "word" })));
      const of = as === "history" ? "word" : "part";
      candidates.push(...[...new Set(parts)].map((name): ShownCandidate => ({ name, folder, of })));
    }
  }
  return candidates.filter(({ name }) => name !== "" && name !== "/" && !name.includes("\0"));
}

/** What separates file names in a text, an address or a program. */
const separators = /[\s"'`()<>|;&=:,@{}[\]\\]+/;

async function resolveCandidate(
  { name, folder, of }: ShownCandidate,
  { as, reach }: ShownWord,
): Promise<DisclosedFile | undefined> {
  const resolved = await resolveForProcess(name, folder);
  if (resolved.kind !== "real") return undefined;
  // A missing file may exist when the line gets there: git restores files.
  if (!resolved.exists && as !== "history")
    return { path: resolved.path, reach: as === "text" ? "itself" : reach, sight: "perhaps" };
  const isDeep = !resolved.exists || (await isFolder(resolved.path));
  const isSure = as !== "text" || (of === "word" && !isDeep);
  return { path: resolved.path, reach: isDeep ? reach : "itself", sight: isSure ? "sure" : "perhaps" };
}

/** The folder that git's object paths are relative to; the folder itself if there is no repository. */
async function findRepository(folder: string): Promise<string> {
  for (let at = folder; dirname(at) !== at; at = dirname(at)) {
    const found = await resolveRealPath(join(at, ".git"), "/");
    if (found.kind === "real" && found.exists) return at;
  }
  return folder;
}

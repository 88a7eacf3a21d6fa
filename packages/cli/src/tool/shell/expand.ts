import { readdir, lstat, readlink } from "node:fs/promises";
import { errorCode } from "../error-code.ts";
import { shellGlobNamesMax, linksFollowedMax } from "../limits.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import type { ShellWord, WordPiece } from "./shell-word.ts";
import { dirname, isAbsolute, join } from "node:path";
import { type RealPathOutcome, resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";

/** Inside quotes or after an option, `~` is an ordinary character. */
export const tildeMeanings = (name: string, home: string): readonly string[] =>
  /^~(\/|$)/.test(name) ? [home + name.slice(1), name] : [name];

/** `~user`, `~+`, `~-`: which folder that is, only the shell knows. */
export const isOtherHome = (name: string): boolean => /^~[^/]/.test(name);

/** What a word may become, with a leading `~` both as home and as a name; undefined if unknown. */
export async function namesFor(word: ShellWord, context: WordContext): Promise<readonly string[] | undefined> {
  switch (word.kind) {
    case "plain":
      return tildeMeanings(word.value, context.home);
    case "glob": {
      const found = await namesFound(word, context);
      return found && [word.value, ...found].flatMap((name) => tildeMeanings(name, context.home));
    }
    case "dynamic":
      return undefined;
  }
}

/** At least the words that the shell makes of one; undefined if unknown. */
export async function expand(word: ShellWord, context: WordContext): Promise<readonly string[] | undefined> {
  const [placed] = withPlaces(word, context);
  // A folder with special characters in its name would become several words, or a pattern.
  if (word.kind === "dynamic" && ![context.cwd, context.home].every((path) => /^[\w./@+-]*$/.test(path)))
    return undefined;
  switch (placed?.kind) {
    case "plain":
      return [placed.value];
    case "glob": {
      const found = await namesFound(placed, context);
      // A pattern without matches stays as it is.
      return found && [placed.value, ...found];
    }
    default:
      return undefined;
  }
}

/**
 * At least every name that the shell would substitute for a pattern; undefined if there are too many or they can't be
 * known. May include more: brackets match any character here, and what counts as one character depends on the locale.
 */
async function namesFound({ pieces = [] }: ShellWord, start: ShellLocation): Promise<readonly string[] | undefined> {
  const parts = pathParts(pieces);
  let words: readonly string[] = [""];
  for (const [index, part] of parts.entries()) {
    const end = index === parts.length - 1 ? "" : "/";
    const longer: string[] = [];
    for (const word of words) {
      const names = part.some(({ kind }) => kind === "glob")
        ? await matchesIn(foldersAt(word, start), part)
        : [joinPieces(part)];
      if (names === undefined || longer.length + names.length > shellGlobNamesMax) return undefined;
      longer.push(...names.map((name) => word + name + end));
    }
    words = longer;
  }
  return words;
}

/** The part of a pattern between two slashes. */
type PathPart = readonly WordPiece[];

function pathParts(pieces: readonly WordPiece[]): readonly PathPart[] {
  const parts: WordPiece[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind !== "plain") parts.at(-1)?.push(piece);
    else
      for (const [index, text] of piece.text.split("/").entries()) {
        if (index > 0) parts.push([]);
        parts.at(-1)?.push({ kind: "plain", text });
      }
  }
  return parts;
}

const joinPieces = (part: PathPart): string => part.map((piece) => (piece.kind === "plain" ? piece.text : "")).join("");

const foldersAt = (word: string, { cwd, home }: ShellLocation): readonly string[] =>
  word === "" ? [cwd] : tildeMeanings(word, home).map((name) => (name.startsWith("/") ? name : `${cwd}/${name}`));

async function matchesIn(folders: readonly string[], part: PathPart): Promise<readonly string[] | undefined> {
  // If the shell option globstar is set, it matches at any depth.
  if (/^\*\*+$/.test(part.map((piece) => (piece.kind === "variable" ? "" : piece.text)).join(""))) return undefined;
  const matches = matcherFor(part);
  const found: string[] = [];
  for (const folder of folders) {
    for (const bytes of await listFolder(folder)) {
      const name = bytes.toString("utf8");
      if (!matches(name)) continue;
      // A name that is not valid UTF-8 can't be looked up.
      if (!Buffer.from(name).equals(bytes)) return undefined;
      found.push(name);
    }
  }
  return found;
}

function matcherFor(part: PathPart): (name: string) => boolean {
  const end = part.findIndex(({ kind }) => kind !== "plain");
  const start = joinPieces(end === -1 ? part : part.slice(0, end));
  const form = new RegExp(`^${part.map(pieceSource).join("")}$`, "su");
  return (name) => {
    if (name.startsWith(".") && !start.startsWith(".")) return false;
    // In some locales each byte of such a name is a character.
    return form.test(name) || (/[^\0-\x7f]/.test(name) && name.startsWith(/^[\0-\x7f]*/.exec(start)?.[0] ?? ""));
  };
}

function pieceSource(piece: WordPiece): string {
  switch (piece.kind) {
    case "plain":
      return piece.text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
    case "glob":
      return piece.matches === "any" ? ".*" : ".";
    case "variable":
      return ".*";
  }
}

async function listFolder(path: string): Promise<readonly Buffer[]> {
  try {
    // Older shells match these two as well.
    return [Buffer.from("."), Buffer.from(".."), ...(await readdir(path, { encoding: "buffer" }))];
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}

/**
 * Where a name leads that another process will open. Paths in `/proc` and `/dev` differ per process, so a name that
 * passes through them stays as text from there, whether or not this process sees such a file.
 */
export async function resolveForProcess(named: string, base: string): Promise<RealPathOutcome> {
  if (named === "" || named.includes("\0")) return await resolveRealPath(named, base);
  const special = await specialPath(isAbsolute(named) ? named : `${base}/${named}`);
  return special === undefined ? await resolveRealPath(named, base) : { kind: "real", path: special, exists: true };
}

/** Standard streams and devices without content: not files that a process could otherwise not read or write. */
export const isStream = (path: string): boolean =>
  /^\/dev\/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd\/\d+)$/.test(path);

/** Follows the links one by one, as the system does, until it reaches such a folder. */
async function specialPath(path: string): Promise<string | undefined> {
  let at = "/";
  let left = pathNames(path);
  let linksLeft = linksFollowedMax;
  for (let [name, ...rest] = left; name !== undefined; [name, ...rest] = left) {
    const here = name === ".." ? dirname(at) : join(at, name);
    if (isSpecialPath(here)) return [here, ...rest].join("/");
    const target = name === ".." ? undefined : await linkTarget(here);
    if (target === undefined) {
      [at, left] = [here, rest];
      continue;
    }
    if (linksLeft === 0) return undefined;
    linksLeft -= 1;
    if (isAbsolute(target)) at = "/";
    left = [...pathNames(target), ...rest];
  }
  return undefined;
}

const pathNames = (path: string): readonly string[] => path.split("/").filter((name) => name !== "" && name !== ".");

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

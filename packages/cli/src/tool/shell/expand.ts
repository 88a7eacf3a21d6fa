import { readdir, lstat, readlink } from "node:fs/promises";
import { errorCode } from "../error-code.ts";
import { shellGlobNamesMax, linksFollowedMax } from "../limits.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import type { ShellWord, WordPiece } from "./shell-word.ts";
import { dirname, isAbsolute, join } from "node:path";
import { type RealPathOutcome, resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";

/** In quotes, or behind an option, `~` is a name like any other. */
export const tildeMeanings = (name: string, home: string): readonly string[] =>
  /^~(\/|$)/.test(name) ? [home + name.slice(1), name] : [name];

/** What a word may become, `~` at its start both as home and as a name; undefined where it can't be told. */
export async function namesFor(word: ShellWord, standing: WordContext): Promise<readonly string[] | undefined> {
  switch (word.kind) {
    case "plain":
      return tildeMeanings(word.value, standing.home);
    case "glob": {
      const found = await namesFound(word, standing);
      return found && [word.value, ...found].flatMap((name) => tildeMeanings(name, standing.home));
    }
    case "dynamic":
      return undefined;
  }
}

/** The words that the shell makes of one, at least; undefined where it can't be told. */
export async function expand(word: ShellWord, standing: WordContext): Promise<readonly string[] | undefined> {
  const [placed] = withPlaces(word, standing);
  // A folder with such signs in its name becomes several words, or a pattern.
  if (word.kind === "dynamic" && ![standing.cwd, standing.home].every((path) => /^[\w./@+-]*$/.test(path)))
    return undefined;
  switch (placed?.kind) {
    case "plain":
      return [placed.value];
    case "glob": {
      const found = await namesFound(placed, standing);
      // It stands as it is where it finds nothing.
      return found && [placed.value, ...found];
    }
    default:
      return undefined;
  }
}

/**
 * At least every name that the shell puts in the place of a pattern; undefined where they are too many or can't be told.
 * More than it finds: brackets stand for any sign, and which signs are one depends on the language that is set.
 */
async function namesFound({ pieces = [] }: ShellWord, start: ShellLocation): Promise<readonly string[] | undefined> {
  const parts = pathParts(pieces);
  let words: readonly string[] = [""];
  for (const [index, part] of parts.entries()) {
    const end = index === parts.length - 1 ? "" : "/";
    const grown: string[] = [];
    for (const word of words) {
      const names = part.some(({ kind }) => kind === "glob")
        ? await matchesIn(foldersAt(word, start), part)
        : [joinPieces(part)];
      if (names === undefined || grown.length + names.length > shellGlobNamesMax) return undefined;
      grown.push(...names.map((name) => word + name + end));
    }
    words = grown;
  }
  return words;
}

/** A pattern between slashes. */
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
  // By a setting of the shell it goes into any depth.
  if (/^\*\*+$/.test(part.map((piece) => (piece.kind === "variable" ? "" : piece.text)).join(""))) return undefined;
  const matches = matcherFor(part);
  const found: string[] = [];
  for (const folder of folders) {
    for (const bytes of await listFolder(folder)) {
      const name = bytes.toString("utf8");
      if (!matches(name)) continue;
      // Bytes that are no text can't be looked up under a name.
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
    // In some languages each byte of such a name is a sign of its own.
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
    // Older shells find these two as well.
    return [Buffer.from("."), Buffer.from(".."), ...(await readdir(path, { encoding: "buffer" }))];
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}

/**
 * Where a name leads that another process is going to open. What lies in `/proc` and `/dev` is another thing for each
 * process, so a name that passes through them ends there, as text, whether or not this process sees such a file.
 */
export async function resolveForProcess(named: string, base: string): Promise<RealPathOutcome> {
  if (named === "" || named.includes("\0")) return await resolveRealPath(named, base);
  const special = await specialPath(isAbsolute(named) ? named : `${base}/${named}`);
  return special === undefined ? await resolveRealPath(named, base) : { kind: "real", path: special, exists: true };
}

/** What a process was given, or nothing: no file that it could not write or read otherwise. */
export const isStream = (path: string): boolean =>
  /^\/dev\/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd\/\d+)$/.test(path);

/** Follows the links one by one, as the system does, until it comes to such a folder. */
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

import { readdir } from "node:fs/promises";
import { codeOf } from "../failure.ts";
import { shellGlobNamesMax } from "../limits.ts";
import { type Standing, type Start, withPlaces } from "./places.ts";
import type { ShellWord, WordPiece } from "./word.ts";

/** In quotes, or behind an option, `~` is a name like any other. */
export const meanings = (name: string, home: string): readonly string[] =>
  /^~(\/|$)/.test(name) ? [home + name.slice(1), name] : [name];

/** What a word may become, `~` at its start both as home and as a name; undefined where it can't be told. */
export async function namesFor(word: ShellWord, standing: Standing): Promise<readonly string[] | undefined> {
  switch (word.kind) {
    case "plain":
      return meanings(word.value, standing.home);
    case "glob": {
      const found = await namesFound(word, standing);
      return found && [word.value, ...found].flatMap((name) => meanings(name, standing.home));
    }
    case "dynamic":
      return undefined;
  }
}

/** The words that the shell makes of one, at least; undefined where it can't be told. */
export async function expand(word: ShellWord, standing: Standing): Promise<readonly string[] | undefined> {
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
async function namesFound({ pieces = [] }: ShellWord, start: Start): Promise<readonly string[] | undefined> {
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

const foldersAt = (word: string, { cwd, home }: Start): readonly string[] =>
  word === "" ? [cwd] : meanings(word, home).map((name) => (name.startsWith("/") ? name : `${cwd}/${name}`));

async function matchesIn(folders: readonly string[], part: PathPart): Promise<readonly string[] | undefined> {
  // By a setting of the shell it goes into any depth.
  if (/^\*\*+$/.test(part.map((piece) => (piece.kind === "variable" ? "" : piece.text)).join(""))) return undefined;
  const matches = matcherFor(part);
  const found: string[] = [];
  for (const folder of folders) {
    for (const bytes of await namesIn(folder)) {
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
  const form = new RegExp(`^${part.map(formOf).join("")}$`, "su");
  return (name) => {
    if (name.startsWith(".") && !start.startsWith(".")) return false;
    // In some languages each byte of such a name is a sign of its own.
    return form.test(name) || (/[^\0-\x7f]/.test(name) && name.startsWith(/^[\0-\x7f]*/.exec(start)?.[0] ?? ""));
  };
}

function formOf(piece: WordPiece): string {
  switch (piece.kind) {
    case "plain":
      return piece.text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
    case "glob":
      return piece.matches === "any" ? ".*" : ".";
    case "variable":
      return ".*";
  }
}

async function namesIn(path: string): Promise<readonly Buffer[]> {
  try {
    // Older shells find these two as well.
    return [Buffer.from("."), Buffer.from(".."), ...(await readdir(path, { encoding: "buffer" }))];
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return [];
  }
}

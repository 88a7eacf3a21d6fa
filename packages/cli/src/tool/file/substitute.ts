import { countWords } from "../count-words.ts";
import {
  matchLinesNamedMax,
  nearestLineCharsMax,
  nearestLinesMax,
  snippetContextLines,
  snippetLineCharsMax,
  snippetLinesMax,
} from "../limits.ts";
import { linesOf, numbered, type Text } from "./text.ts";

export interface Change {
  readonly from: string;
  readonly to: string;
  readonly which: "the-only-one" | "all";
}

export type Substituted =
  | { readonly kind: "changed"; readonly text: Text; readonly count: number; readonly snippet: string }
  | { readonly kind: "refused"; readonly message: string };

/** Exact: a text that is not there as given is never guessed at. The rest of the file keeps every byte. */
export function substitute(file: Text, change: Change): Substituted {
  const { from, to } = fitted(file, change);
  if (from === "") return refused("old_string is empty; write creates files");
  if (from === to) return refused("old_string and new_string are the same: nothing to change");
  const places = placesOf(file.text, from);
  const [first] = places;
  if (first === undefined) return refused(notFound(file.text, from));
  if (places.length > 1 && change.which === "the-only-one") return refused(ambiguous(file.text, places));
  const text = { ...file, text: file.text.split(from).join(to) };
  return {
    kind: "changed",
    text,
    count: places.length,
    snippet: snippetOf(text.text, { at: first, length: to.length }),
  };
}

/** What the model gives has `\n`, as it was shown the file; where the file has both kinds, the one that is there counts. */
function fitted(file: Text, { from, to }: Change): { readonly from: string; readonly to: string } {
  const plain = { from: from.replaceAll("\r\n", "\n"), to: to.replaceAll("\r\n", "\n") };
  switch (file.breaks) {
    case "\r\n":
      return plain;
    case "\n":
      return { from, to };
    case "mixed":
      if (file.text.includes(from)) return { from, to };
      return { from: plain.from.replaceAll("\n", "\r\n"), to: plain.to.replaceAll("\n", "\r\n") };
  }
}

function placesOf(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function ambiguous(text: string, places: readonly number[]): string {
  const named = places.slice(0, matchLinesNamedMax).map((at) => lineAt(text, at));
  const more = places.length > named.length ? ", …" : "";
  return `old_string occurs ${places.length} times (lines ${named.join(", ")}${more}): give more of its surroundings, or set replace_all`;
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;

function notFound(text: string, wanted: string): string {
  const nearest = nearestLine(linesOf(text), wanted);
  const hint = nearest === undefined ? "" : `. The nearest line is:\n${nearest}`;
  return `old_string is not in the file as given (spaces and line breaks count)${hint}`;
}

/** The line most like the first line asked for; undefined if none has half of its letter pairs. */
function nearestLine(lines: readonly string[], wanted: string): string | undefined {
  const sought = wanted.split("\n").find((line) => line.trim() !== "");
  if (sought === undefined) return undefined;
  const pairs = pairsOf(sought);
  let best = { likeness: 0.5, shown: "" };
  for (const [index, line] of lines.slice(0, nearestLinesMax).entries()) {
    const likeness = likenessOf(pairs, pairsOf(line));
    if (likeness > best.likeness) best = { likeness, shown: numbered(index + 1, cut(line)) };
  }
  return best.shown === "" ? undefined : best.shown;
}

function pairsOf(line: string): ReadonlySet<string> {
  const text = line.trim().slice(0, nearestLineCharsMax);
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length; at += 1) pairs.add(text.slice(at, at + 2));
  return pairs;
}

function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size + other.size === 0) return 0;
  return (2 * one.intersection(other).size) / (one.size + other.size);
}

function snippetOf(text: string, change: { readonly at: number; readonly length: number }): string {
  const lines = linesOf(text);
  const first = Math.max(1, lineAt(text, change.at) - snippetContextLines);
  const last = Math.min(lines.length, lineAt(text, change.at + change.length) + snippetContextLines);
  const shownLast = Math.min(last, first + snippetLinesMax - 1);
  const shown = lines.slice(first - 1, shownLast).map((line, index) => numbered(first + index, cut(line)));
  return [...shown, ...(shownLast < last ? [`(${countWords(last - shownLast, "more line")})`] : [])].join("\n");
}

const cut = (line: string): string =>
  line.length <= snippetLineCharsMax ? line : `${line.slice(0, snippetLineCharsMax)} …`;

const refused = (message: string): Substituted => ({ kind: "refused", message });

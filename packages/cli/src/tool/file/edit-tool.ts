import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";
import { defineTool, toolError, wrongCall } from "../define-tool.ts";
import {
  hashFileBytes,
  nothingShown,
  readKnownFile,
  replaceFile,
  decodeText,
  encodeText,
  countWithNoun,
  splitLines,
  numberLine,
  type TextFile,
} from "./text-file.ts";
import {
  matchLinesNamedMax,
  nearestLineCharsMax,
  nearestLinesMax,
  snippetContextLines,
  snippetLineCharsMax,
  snippetLinesMax,
} from "../limits.ts";

const input = z.strictObject({
  file_path: z.string(),
  old_string: z.string().describe("Without line numbers."),
  new_string: z.string(),
  replace_all: z.boolean().optional().describe("Every occurrence."),
});

export const editTool = (): Tool =>
  defineTool({
    name: "edit",
    description:
      "Replace a text in a file that was read before. The text must match exactly, spaces included, and be unique unless replace_all is set.",
    input,
    effect: "write",
    plan: async ({ file_path, old_string, new_string, replace_all }, context) => {
      const resolved = await resolveRealPath(file_path, context.cwd);
      if (resolved.kind === "refused") return wrongCall(resolved.message);
      if (!resolved.exists) return wrongCall(`${resolved.path}: there is no such file; write creates files`);
      if (isSpecialPath(resolved.path)) return wrongCall(`${resolved.path}: nothing is written there`);
      const which = replace_all === true ? "all" : "the-only-one";
      return {
        kind: "ready",
        acts: [{ kind: "write", path: resolved.path }],
        run: () => editFile({ path: resolved.path, change: { from: old_string, to: new_string, which }, context }),
      };
    },
  });

async function editFile({
  path,
  change,
  context,
}: {
  readonly path: string;
  readonly change: Change;
  readonly context: ToolContext;
}): Promise<ToolOutcome> {
  const before = await readKnownFile(context.files, path);
  if (before.kind === "absent") return toolError(`${path}: there is no such file any more`);
  if (before.kind === "refused") return toolError(before.message);
  const text = decodeText(before.file.bytes);
  if (text === undefined) return toolError(`${path}: a binary file, or not UTF-8; it can't be edited as text`);
  const changed = substitute(text, change);
  if (changed.kind === "refused") return toolError(`${path}: ${changed.message}`);
  const bytes = encodeText(changed.text);
  const replaced = await replaceFile({ path, bytes, mode: before.file.mode });
  if (replaced.kind === "refused") return toolError(replaced.message);
  context.files.set(path, {
    hash: hashFileBytes(bytes),
    modifiedMs: replaced.modifiedMs,
    lines: nothingShown,
    shownBy: context.toolUse,
  });
  const headline = `Changed ${path}${changed.count > 1 ? ` in ${changed.count} places, the first` : ""}`;
  return { content: `${headline}:\n${changed.snippet}`, summary: `${headline}.` };
}

interface Change {
  readonly from: string;
  readonly to: string;
  readonly which: "the-only-one" | "all";
}

type SubstituteOutcome =
  | { readonly kind: "changed"; readonly text: TextFile; readonly count: number; readonly snippet: string }
  | { readonly kind: "refused"; readonly message: string };

/** Exact: a text that is not in the file as given is never guessed. The rest of the file keeps every byte. */
export function substitute(file: TextFile, change: Change): SubstituteOutcome {
  const { from, to } = fitLineBreaks(file, change);
  if (from === "") return refuseEdit("old_string is empty; write creates files");
  if (from === to) return refuseEdit("old_string and new_string are the same: nothing to change");
  const places = findOccurrences(file.text, from);
  const [first] = places;
  if (first === undefined) return refuseEdit(notFoundMessage(file.text, from));
  if (places.length > 1 && change.which === "the-only-one") return refuseEdit(ambiguousMessage(file.text, places));
  const text = { ...file, text: file.text.split(from).join(to) };
  return {
    kind: "changed",
    text,
    count: places.length,
    snippet: renderSnippet(text.text, { at: first, length: to.length }),
  };
}

/**
 * The model writes `\
 * `, because it was shown the file that way. If the file mixes both kinds, the kind at the match is used.
 */
function fitLineBreaks(file: TextFile, { from, to }: Change): { readonly from: string; readonly to: string } {
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

function findOccurrences(text: string, searched: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(searched); at !== -1; at = text.indexOf(searched, at + searched.length)) places.push(at);
  return places;
}

function ambiguousMessage(text: string, places: readonly number[]): string {
  const named = places.slice(0, matchLinesNamedMax).map((at) => lineAt(text, at));
  const more = places.length > named.length ? ", …" : "";
  return `old_string occurs ${places.length} times (lines ${named.join(", ")}${more}): give more of its surroundings, or set replace_all`;
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;

function notFoundMessage(text: string, searched: string): string {
  const nearest = nearestLine(splitLines(text), searched);
  const hint = nearest === undefined ? "" : `. The nearest line is:\n${nearest}`;
  return `old_string is not in the file as given (spaces and line breaks count)${hint}`;
}

/** The line most similar to the first line of the wanted text; undefined if none shares half of its letter pairs. */
function nearestLine(lines: readonly string[], searched: string): string | undefined {
  const firstLine = searched.split("\n").find((line) => line.trim() !== "");
  if (firstLine === undefined) return undefined;
  const pairs = letterPairs(firstLine);
  let best = { likeness: 0.5, shown: "" };
  for (const [index, line] of lines.slice(0, nearestLinesMax).entries()) {
    const likeness = computeLikeness(pairs, letterPairs(line));
    if (likeness > best.likeness) best = { likeness, shown: numberLine(index + 1, cutSnippetLine(line)) };
  }
  return best.shown === "" ? undefined : best.shown;
}

function letterPairs(line: string): ReadonlySet<string> {
  const text = line.trim().slice(0, nearestLineCharsMax);
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length; at += 1) pairs.add(text.slice(at, at + 2));
  return pairs;
}

function computeLikeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size + other.size === 0) return 0;
  return (2 * one.intersection(other).size) / (one.size + other.size);
}

function renderSnippet(text: string, change: { readonly at: number; readonly length: number }): string {
  const lines = splitLines(text);
  const first = Math.max(1, lineAt(text, change.at) - snippetContextLines);
  const last = Math.min(lines.length, lineAt(text, change.at + change.length) + snippetContextLines);
  const shownLast = Math.min(last, first + snippetLinesMax - 1);
  const shown = lines.slice(first - 1, shownLast).map((line, index) => numberLine(first + index, cutSnippetLine(line)));
  return [...shown, ...(shownLast < last ? [`(${countWithNoun(last - shownLast, "more line")})`] : [])].join("\n");
}

const cutSnippetLine = (line: string): string =>
  line.length <= snippetLineCharsMax ? line : `${line.slice(0, snippetLineCharsMax)} …`;

const refuseEdit = (message: string): SubstituteOutcome => ({ kind: "refused", message });

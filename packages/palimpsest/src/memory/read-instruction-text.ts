import { importsPerFileMax } from "./limits.ts";

interface InstructionText {
  /** Without block comments, which are for people. */
  readonly text: string;
  /** Paths behind an `@`, as written, in order, each once; none from code. */
  readonly imports: readonly string[];
}

/** Code blocks stay as they are, and so does a comment that is never closed. */
export function readInstructionText(source: string): InstructionText {
  const lines = source.replace(/^\uFEFF/, "").split(/\r?\n/);
  const kept: string[] = [];
  const prose: string[] = [];
  let fence: string | undefined;
  const lastEnd = lines.findLastIndex((line) => line.includes("-->"));
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    // Searches only if an end follows, which keeps the whole linear.
    const comment = fence === undefined && at <= lastEnd ? commentAt(lines, at) : undefined;
    if (comment !== undefined) {
      // What follows the comment on its last line is treated as a line of its own.
      at = comment.last;
      if (comment.rest.trim() !== "") lines[at--] = comment.rest;
      continue;
    }
    kept.push(line);
    const next = fenceAfter(fence, line);
    prose.push(fence === undefined && next === undefined ? line : "");
    fence = next;
  }
  return { text: kept.join("\n").trim(), imports: importsIn(withoutIndentedCode(prose)) };
}

interface BlockComment {
  /** Index of the line on which it ends. */
  readonly last: number;
  readonly rest: string;
}

function commentAt(lines: readonly string[], at: number): BlockComment | undefined {
  const opening = /^ {0,3}<!--/.exec(lines[at] ?? "");
  if (opening === null) return undefined;
  for (let last = at; last < lines.length; last += 1) {
    const line = lines[last] ?? "";
    const end = line.indexOf("-->", last === at ? opening[0].length : 0);
    if (end !== -1) return { last, rest: line.slice(end + "-->".length) };
  }
  return undefined;
}

/** The characters of the fence that is open after a line. */
function fenceAfter(open: string | undefined, line: string): string | undefined {
  if (open === undefined) return /^\s*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];
  const closing = /^\s*(`{3,}|~{3,})\s*$/.exec(line)?.[1];
  return closing !== undefined && closing.startsWith(open) ? undefined : open;
}

/** Four spaces after an empty line are code, unless they continue a list item. */
function withoutIndentedCode(lines: readonly string[]): readonly string[] {
  let inList = false;
  let before: "empty" | "code" | "prose" = "empty";
  return lines.map((line) => {
    if (line.trim() === "") {
      if (before === "prose") before = "empty";
      return "";
    }
    const indented = /^(?: {4}|\t)/.test(line);
    if (!indented) inList = /^ {0,3}(?:[-*+]|\d+[.)])\s/.test(line);
    const isCode = indented && !inList && before !== "prose";
    before = isCode ? "code" : "prose";
    return isCode ? "" : line;
  });
}

function importsIn(prose: readonly string[]): readonly string[] {
  const found = new Set<string>();
  // A code span does not reach across an empty line.
  for (const paragraph of prose.join("\n").split(/\n(?:[ \t]*\n)+/)) {
    const words = paragraph.replaceAll(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, " ");
    for (const [, written = ""] of words.matchAll(/(?<=^|\s)@((?:\\ |[^\s\\])+)/g)) {
      const path = written.replaceAll("\\ ", " ").replace(/[.,;:!?)\]]+$/, "");
      if (path !== "" && found.size < importsPerFileMax) found.add(path);
    }
  }
  return [...found];
}

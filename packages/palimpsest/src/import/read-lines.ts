import { isArray, type Json, parseJson } from "../schema/json.ts";

interface ReadLine {
  readonly value: Json;
  /** Counted from 1. */
  readonly line: number;
}

interface ReadLines {
  readonly values: readonly ReadLine[];
  /** Numbers of the lines that are not JSON. */
  readonly damaged: readonly number[];
}

/** Reads a file with one JSON value per line. Damaged lines do not stop it. */
export function readLines(text: string): ReadLines {
  const values: ReadLine[] = [];
  const damaged: number[] = [];
  let line = 0;
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    line += 1;
    const source = text.slice(start, end).trim();
    start = end + 1;
    if (source === "") continue;
    const value = tryParse(source);
    if (value === undefined) damaged.push(line);
    else values.push({ value, line });
  }
  return { values, damaged };
}

interface ReadDocument {
  readonly value: Json | undefined;
  /** `torn`: the text ends within the document, and `value` holds the part before. */
  readonly state: "whole" | "torn";
}

/** Reads a file that is one JSON document, perhaps over many lines. */
export function readDocument(text: string): ReadDocument {
  const whole = tryParse(text);
  return whole === undefined ? { value: readTorn(text), state: "torn" } : { value: whole, state: "whole" };
}

/** The values at the beginning of a file, given its first bytes. A list counts as its members. */
export function headValues(head: string): readonly Json[] {
  const lines = readLines(head);
  const first = lines.values[0];
  // If the first line is a complete object or list, the file has one value per line; a document over many lines starts differently.
  const byLine = first !== undefined && (lines.damaged[0] ?? Infinity) > first.line && typeof first.value === "object";
  if (byLine) return members(lines.values.map(({ value }) => value));
  const document = readTorn(head);
  if (typeof document === "object" && document !== null) return members([document]);
  return lines.values.map(({ value }) => value);
}

const members = (values: readonly Json[]): readonly Json[] => {
  const [first] = values;
  return values.length === 1 && isArray(first) ? first : values;
};

function tryParse(source: string): Json | undefined {
  try {
    return parseJson(source);
  } catch {
    return undefined;
  }
}

/** Cuts the text after the last complete value and closes the open brackets. */
function readTorn(text: string): Json | undefined {
  const { end, closers } = lastSafePoint(text);
  return end === 0 ? undefined : tryParse(text.slice(0, end) + closers);
}

interface SafePoint {
  readonly end: number;
  /** The brackets that close those open at `end`, innermost first. */
  readonly closers: string;
}

/**
 * One pass over the text. A point is safe after an opening bracket, before a comma and after a closing bracket: there, the
 * previous value is complete.
 */
function lastSafePoint(text: string): SafePoint {
  const stack: string[] = [];
  let end = 0;
  const signs = /["{}[\],]/g;
  for (let match = signs.exec(text); match !== null; match = signs.exec(text)) {
    const sign = match[0];
    if (sign === '"') {
      const stringEnd = endOfString(text, match.index + 1);
      if (stringEnd === -1) break;
      signs.lastIndex = stringEnd;
      continue;
    }
    end = sign === "," ? match.index : match.index + 1;
    if (sign === "{" || sign === "[") stack.push(sign === "{" ? "}" : "]");
    else if (sign !== ",") stack.pop();
    if (stack.length === 0) break;
  }
  return { end, closers: stack.toReversed().join("") };
}

/** The position after the closing quote, or -1 if the string has no end. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return -1;
}

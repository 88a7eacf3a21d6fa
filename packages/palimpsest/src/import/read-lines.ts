import { isArray, type Json, parseJson } from "../schema/json.ts";

/**
 * Text of other tools → JSON, whatever its state. Files are one document (perhaps over many lines) or one value a line;
 * a document that was cut off is read as far as it goes.
 */
interface ReadLine {
  readonly value: Json;
  /** Counted from 1. */
  readonly line: number;
}

interface ReadLines {
  readonly values: readonly ReadLine[];
  /** Numbers of lines that are no JSON. */
  readonly damaged: readonly number[];
}

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
  /** `torn`: the text ends within the document; what stood before is there. */
  readonly state: "whole" | "torn";
}

export function readDocument(text: string): ReadDocument {
  const whole = tryParse(text);
  return whole === undefined ? { value: readTorn(text), state: "torn" } : { value: whole, state: "whole" };
}

/** The values at the beginning of a file, of which only the head was read. A list counts as its members. */
export function headValues(head: string): readonly Json[] {
  const lines = readLines(head);
  const first = lines.values[0];
  // A first line that holds a whole object or list means one value a line; in a document over many lines it does not.
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

/** Cut behind the last whole value, with the brackets closed that are open there. */
function readTorn(text: string): Json | undefined {
  const { end, open } = lastSafePoint(text);
  return end === 0 ? undefined : tryParse(text.slice(0, end) + open);
}

interface SafePoint {
  readonly end: number;
  /** What closes the brackets that are open at `end`, innermost first. */
  readonly open: string;
}

/**
 * One pass over the text. Safe is the place behind an opening bracket and in front of a comma or closing bracket: there
 * the value before is whole, whatever it was.
 */
function lastSafePoint(text: string): SafePoint {
  const closers: string[] = [];
  let end = 0;
  const signs = /["{}[\],]/g;
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    const sign = found[0];
    if (sign === '"') {
      const behind = endOfString(text, found.index + 1);
      if (behind === -1) break;
      signs.lastIndex = behind;
      continue;
    }
    end = sign === "," ? found.index : found.index + 1;
    if (sign === "{" || sign === "[") closers.push(sign === "{" ? "}" : "]");
    else if (sign !== ",") closers.pop();
    if (closers.length === 0) break;
  }
  return { end, open: closers.toReversed().join("") };
}

/** Behind the closing quote, or -1 where the string has no end. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return -1;
}

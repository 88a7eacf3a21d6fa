import { isArray, isObject, type Json, parseJson } from "../../schema/json.ts";
import { utf8Length } from "../../tokens/estimate.ts";
import { clipped, headOf } from "./cut.ts";
import { outlineCharsMax, outlineDepthMax, outlineItemsMax, outlineKeysMax, outlineTextChars } from "./limits.ts";

/**
 * The structure of a JSON text in at most so many bytes: keys, types, lengths, first items; as deep as the budget
 * reaches. Undefined where the text is no JSON object or array.
 */
export function outlineOf(text: string, bytesMax: number): string | undefined {
  const value = structureOf(text);
  if (value === undefined) return undefined;
  for (let depth = outlineDepthMax; depth > 0; depth -= 1) {
    const lines = new Lines(bytesMax);
    describe(value, { lines, depth, label: "", indent: "" });
    if (lines.fits) return lines.text;
  }
  const lines = new Lines(Infinity);
  describe(value, { lines, depth: 1, label: "", indent: "" });
  return headOf(lines.text, bytesMax);
}

function structureOf(text: string): Json | undefined {
  if (text.length > outlineCharsMax || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

class Lines {
  readonly #lines: string[] = [];
  #left: number;

  constructor(bytesMax: number) {
    this.#left = bytesMax;
  }

  add(line: string): void {
    this.#left -= utf8Length(line) + 1;
    if (this.fits) this.#lines.push(line);
  }

  get fits(): boolean {
    return this.#left >= 0;
  }

  get text(): string {
    return this.#lines.join("\n");
  }
}

interface Place {
  readonly lines: Lines;
  /** Levels that are still opened. */
  readonly depth: number;
  readonly label: string;
  readonly indent: string;
}

function describe(value: Json, { lines, depth, label, indent }: Place): void {
  if (!lines.fits) return;
  lines.add(`${indent}${label}${kindOf(value)}`);
  if (depth === 0) return;
  const inner = { lines, depth: depth - 1, indent: `${indent}  ` };
  if (isArray(value)) {
    for (const [at, item] of value.slice(0, outlineItemsMax).entries()) describe(item, { ...inner, label: `[${at}] ` });
  } else if (isObject(value)) {
    const keys = Object.keys(value);
    for (const key of keys.slice(0, outlineKeysMax))
      describe(value[key] ?? null, { ...inner, label: `${quoted(key)}: ` });
    if (keys.length > outlineKeysMax) lines.add(`${inner.indent}… ${count(keys.length - outlineKeysMax)} more keys`);
  }
}

function kindOf(value: Json): string {
  if (isArray(value)) return `array of ${count(value.length)}`;
  if (isObject(value)) return `object of ${count(Object.keys(value).length)}`;
  return typeof value === "string" ? quoted(value) : String(value);
}

function quoted(text: string): string {
  const shown = clipped(text, outlineTextChars);
  return shown.length === text.length
    ? JSON.stringify(text)
    : `${JSON.stringify(shown)}… (${count(text.length)} characters)`;
}

const count = (number: number): string => number.toLocaleString("en-US");

import type { ResultContent } from "../../schema/block.ts";
import type { Bytes } from "../../schema/brand.ts";
import { formatBytes } from "../../text/format-count.ts";
import { textField, isArray, isObject, type Json, parseJson } from "../../schema/json.ts";
import { utf8Length } from "../../tokens/estimate-block.ts";
import type { PreviewRule } from "../policy.ts";
import { headWithinBytes, tailWithinBytes, clipText } from "../clip-text.ts";
import {
  previewBytes,
  previewTailBytes,
  outlineCharsMax,
  outlineDepthMax,
  outlineItemsMax,
  outlineKeysMax,
  outlineTextChars,
} from "./limits.ts";

interface PreviewInput {
  readonly tool: string;
  /** The id under which `recall` returns the whole. */
  readonly id: string;
  readonly content: ResultContent;
  /** Size of the whole as it is stored. */
  readonly bytes: Bytes;
  readonly kept: OriginalLocation;
  /** How much is shown; ours if absent. */
  readonly rule?: PreviewRule | undefined;
}

const defaultRule: PreviewRule = { of: "bytes", length: previewBytes, shows: "structure" };

export type OriginalLocation =
  | { readonly kind: "file"; readonly path: string }
  /** In a store without paths, or in the transcript itself. */
  | { readonly kind: "id" }
  /** The disk refused it, and the transcript has no room for it. */
  | { readonly kind: "nowhere"; readonly message: string };

/** The text that replaces an offloaded result. The same input gives the same bytes. */
export function renderPreview({ tool, id, content, bytes, kept, rule = defaultRule }: PreviewInput): string {
  const shown = escapeOutputTag(excerpt(tool, visibleText(content), rule).toWellFormed());
  return ["<persisted-output>", ...renderHeader({ id, bytes, kept }), "", shown, "</persisted-output>"].join("\n");
}

function renderHeader({ id, bytes, kept }: Pick<PreviewInput, "id" | "bytes" | "kept">): readonly string[] {
  const size = `This output has ${formatBytes(bytes)}, too much to show here.`;
  switch (kept.kind) {
    case "file":
      return [`${size} All of it is in ${kept.path}`, `Read parts of that file, or recall ${id}. A preview:`];
    case "id":
      return [`${size} All of it is kept: recall ${id}. A preview:`];
    case "nowhere":
      return [`${size} It could not be kept (${kept.message}): only what follows is left of it.`];
  }
}

/** Names of tools that run commands. What matters in their output often comes last. */
const commandTool = /^(?:bash|shell|terminal|exec|local_shell|run_shell_command|execute_bash)$/i;

function excerpt(tool: string, whole: string, { of, length, shows }: PreviewRule): string {
  const bytesMax = of === "bytes" ? length : utf8Length(whole.slice(0, length));
  if (shows === "head") return ends(whole, { head: bytesMax, tail: 0 });
  if (commandTool.test(tool)) return ends(whole, { head: bytesMax / 2, tail: bytesMax / 2 });
  return renderJsonOutline(whole, bytesMax) ?? ends(whole, { head: bytesMax, tail: previewTailBytes });
}

function renderJsonOutline(whole: string, bytesMax: number): string | undefined {
  const outline = renderOutline(whole, bytesMax);
  return outline === undefined ? undefined : `JSON, its structure and first items:\n${outline}`;
}

function ends(whole: string, bytes: { readonly head: number; readonly tail: number }): string {
  const head = headWithinBytes(whole, bytes.head);
  if (head.length === whole.length) return whole;
  const tail = tailWithinBytes(whole.slice(head.length), bytes.tail);
  const between = whole.slice(head.length, whole.length - tail.length);
  if (between.trim() === "") return whole;
  const leftOut = `${head}\n… ${formatBytes(utf8Length(between))} left out …`;
  return bytes.tail === 0 ? leftOut : `${leftOut}\n${tail}`;
}

/** Text as it is; other blocks by their type. */
const visibleText = (content: ResultContent): string =>
  typeof content === "string"
    ? content
    : content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`).join("\n");

/** The output must not close our tag. */
const escapeOutputTag = (shown: string): string =>
  shown.replaceAll("</persisted-output", String.raw`<\/persisted-output`);

/**
 * The structure of a JSON text in at most so many bytes: keys, types, lengths and first items, as deep as the budget
 * allows. Undefined if the text is no JSON object or array.
 */
export function renderOutline(text: string, bytesMax: number): string | undefined {
  const value = parseStructure(text);
  if (value === undefined) return undefined;
  for (let depth = outlineDepthMax; depth > 0; depth -= 1) {
    const lines = new Lines(bytesMax);
    describeValue(value, { lines, depth, label: "", indent: "" });
    if (lines.fits) return lines.text;
  }
  const lines = new Lines(Infinity);
  describeValue(value, { lines, depth: 1, label: "", indent: "" });
  return headWithinBytes(lines.text, bytesMax);
}

function parseStructure(text: string): Json | undefined {
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

interface OutlinePlace {
  readonly lines: Lines;
  /** Levels that may still be descended. */
  readonly depth: number;
  readonly label: string;
  readonly indent: string;
}

function describeValue(value: Json, { lines, depth, label, indent }: OutlinePlace): void {
  if (!lines.fits) return;
  lines.add(`${indent}${label}${describeKind(value)}`);
  if (depth === 0) return;
  const inner = { lines, depth: depth - 1, indent: `${indent}  ` };
  if (isArray(value)) {
    for (const [at, item] of value.slice(0, outlineItemsMax).entries())
      describeValue(item, { ...inner, label: `[${at}] ` });
  } else if (isObject(value)) {
    const keys = Object.keys(value);
    for (const key of keys.slice(0, outlineKeysMax))
      describeValue(value[key] ?? null, { ...inner, label: `${quoteText(key)}: ` });
    if (keys.length > outlineKeysMax)
      lines.add(`${inner.indent}… ${formatAmount(keys.length - outlineKeysMax)} more keys`);
  }
}

function describeKind(value: Json): string {
  if (isArray(value)) return `array of ${formatAmount(value.length)}`;
  if (isObject(value)) return `object of ${formatAmount(Object.keys(value).length)}`;
  return typeof value === "string" ? quoteText(value) : String(value);
}

function quoteText(text: string): string {
  const shown = clipText(text, outlineTextChars);
  return shown.length === text.length
    ? JSON.stringify(text)
    : `${JSON.stringify(shown)}… (${formatAmount(text.length)} characters)`;
}

const formatAmount = (number: number): string => number.toLocaleString("en-US");

import type { ResultContent } from "../../schema/block.ts";
import type { Bytes } from "../../schema/brand.ts";
import { humanBytes } from "../../schema/human-bytes.ts";
import { text } from "../../schema/json.ts";
import { utf8Length } from "../../tokens/estimate.ts";
import { headOf, tailOf } from "./cut.ts";
import { previewBytes, previewTailBytes } from "./limits.ts";
import { outlineOf } from "./outline.ts";

export interface PreviewInput {
  readonly tool: string;
  /** Under which `recall` gives the whole. */
  readonly id: string;
  readonly content: ResultContent;
  /** Of the whole, as it is kept. */
  readonly bytes: Bytes;
  readonly kept: Kept;
}

export type Kept =
  | { readonly kind: "file"; readonly path: string }
  /** In a store without paths, or in the transcript itself. */
  | { readonly kind: "id" }
  /** The disk refused it, and the transcript has no room for it. */
  | { readonly kind: "nowhere"; readonly message: string };

/** What the model gets in place of an offloaded result. The same input gives the same bytes. */
export function previewOf({ tool, id, content, bytes, kept }: PreviewInput): string {
  const shown = unclosed(excerpt(tool, visibleText(content)).toWellFormed());
  return ["<persisted-output>", ...headerOf({ id, bytes, kept }), "", shown, "</persisted-output>"].join("\n");
}

function headerOf({ id, bytes, kept }: Pick<PreviewInput, "id" | "bytes" | "kept">): readonly string[] {
  const size = `This output has ${humanBytes(bytes)}, too much to show here.`;
  switch (kept.kind) {
    case "file":
      return [`${size} All of it is in ${kept.path}`, `Read parts of that file, or recall ${id}. A preview:`];
    case "id":
      return [`${size} All of it is kept: recall ${id}. A preview:`];
    case "nowhere":
      return [`${size} It could not be kept (${kept.message}): only what follows is left of it.`];
  }
}

/** Names that agents give to a tool whose output is that of a command: what matters there often comes last. */
const commandTool = /^(?:bash|shell|terminal|exec|local_shell|run_shell_command|execute_bash)$/i;

function excerpt(tool: string, whole: string): string {
  if (commandTool.test(tool)) return ends(whole, { head: previewBytes / 2, tail: previewBytes / 2 });
  return outlined(whole) ?? ends(whole, { head: previewBytes, tail: previewTailBytes });
}

function outlined(whole: string): string | undefined {
  const outline = outlineOf(whole, previewBytes);
  return outline === undefined ? undefined : `JSON, its structure and first items:\n${outline}`;
}

function ends(whole: string, bytes: { readonly head: number; readonly tail: number }): string {
  const head = headOf(whole, bytes.head);
  if (head.length === whole.length) return whole;
  const tail = tailOf(whole.slice(head.length), bytes.tail);
  const between = whole.slice(head.length, whole.length - tail.length);
  if (between.trim() === "") return whole;
  return `${head}\n… ${humanBytes(utf8Length(between))} left out …\n${tail}`;
}

/** Text as it is; other blocks by their kind. */
const visibleText = (content: ResultContent): string =>
  typeof content === "string"
    ? content
    : content.map((part) => text(part, "text") ?? `[${text(part, "type") ?? "block"}]`).join("\n");

/** What the tool said must not end our tag. */
const unclosed = (shown: string): string => shown.replaceAll("</persisted-output", String.raw`<\/persisted-output`);

import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tools";
import { resolveReal } from "../confine.ts";
import { isSpecial } from "../inside.ts";
import { defineTool, failed, wrong } from "../define.ts";
import { hashOf } from "./open.ts";
import { replaceFile } from "./replace.ts";
import { nothingShown, seenOnDisk } from "./seen.ts";
import { type Change, substitute } from "./substitute.ts";
import { decodeText, encodeText } from "./text.ts";

const input = z.strictObject({
  file_path: z.string().describe("Absolute, or relative to the working directory."),
  old_string: z.string().describe("Text to replace, exactly as in the file, without line numbers."),
  new_string: z.string().describe("Text in its place."),
  replace_all: z.boolean().optional().describe("Every occurrence; otherwise there must be exactly one."),
});

export const editTool = (): Tool =>
  defineTool({
    name: "edit",
    description:
      "Replace a text in a file that was read before. The text must match exactly, spaces included, and be unique unless replace_all is set.",
    input,
    effect: "write",
    plan: async ({ file_path, old_string, new_string, replace_all }, context) => {
      const resolved = await resolveReal(file_path, context.cwd);
      if (resolved.kind === "refused") return wrong(resolved.message);
      if (!resolved.exists) return wrong(`${resolved.path}: there is no such file; write creates files`);
      if (isSpecial(resolved.path)) return wrong(`${resolved.path}: nothing is written there`);
      const which = replace_all === true ? "all" : "the-only-one";
      return {
        kind: "ready",
        acts: [{ kind: "write", path: resolved.path }],
        run: () => edit({ path: resolved.path, change: { from: old_string, to: new_string, which }, context }),
      };
    },
  });

interface Editing {
  readonly path: string;
  readonly change: Change;
  readonly context: ToolContext;
}

async function edit({ path, change, context }: Editing): Promise<ToolOutcome> {
  const before = await seenOnDisk(context.files, path);
  if (before.kind === "absent") return failed(`${path}: there is no such file any more`);
  if (before.kind === "refused") return failed(before.message);
  const text = decodeText(before.file.bytes);
  if (text === undefined) return failed(`${path}: a binary file, or not UTF-8; it can't be edited as text`);
  const changed = substitute(text, change);
  if (changed.kind === "refused") return failed(`${path}: ${changed.message}`);
  const bytes = encodeText(changed.text);
  const replaced = await replaceFile({ path, bytes, mode: before.file.mode });
  if (replaced.kind === "refused") return failed(replaced.message);
  context.files.set(path, {
    hash: hashOf(bytes),
    modifiedMs: replaced.modifiedMs,
    lines: nothingShown,
    shownBy: context.toolUse,
  });
  const did = `Changed ${path}${changed.count > 1 ? ` in ${changed.count} places, the first` : ""}`;
  return { content: `${did}:\n${changed.snippet}`, summary: `${did}.` };
}

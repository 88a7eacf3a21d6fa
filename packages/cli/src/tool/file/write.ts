import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tools";
import { resolveReal } from "../confine.ts";
import { isSpecial } from "../inside.ts";
import { defineTool, failed, wrong } from "../define.ts";
import { hashOf } from "./open.ts";
import { replaceFile } from "./replace.ts";
import { nothingShown, seenOnDisk } from "./seen.ts";
import { sizeWords } from "./text.ts";

const input = z.strictObject({
  file_path: z.string().describe("Absolute, or relative to the working directory."),
  content: z.string().describe("The whole new content."),
});

export const writeTool = (): Tool =>
  defineTool({
    name: "write",
    description:
      "Create a file, with its folders, or replace one as a whole. An existing file must have been read first. " +
      "To change part of a file use edit.",
    input,
    effect: "write",
    plan: async ({ file_path, content }, context) => {
      const resolved = await resolveReal(file_path, context.cwd);
      if (resolved.kind === "refused") return wrong(resolved.message);
      if (isSpecial(resolved.path)) return wrong(`${resolved.path}: nothing is written there`);
      return {
        kind: "ready",
        acts: [{ kind: "write", path: resolved.path }],
        run: () => write({ path: resolved.path, content, context }),
      };
    },
  });

interface Writing {
  readonly path: string;
  readonly content: string;
  readonly context: ToolContext;
}

async function write({ path, content, context }: Writing): Promise<ToolOutcome> {
  const before = await seenOnDisk(context.files, path);
  if (before.kind === "refused") return failed(before.message);
  const bytes = Buffer.from(content, "utf8");
  const replaced = await replaceFile({ path, bytes, ...(before.kind === "seen" ? { mode: before.file.mode } : {}) });
  if (replaced.kind === "refused") return failed(replaced.message);
  context.files.set(path, {
    hash: hashOf(bytes),
    modifiedMs: replaced.modifiedMs,
    lines: nothingShown,
    shownBy: context.toolUse,
  });
  const did = `${before.kind === "absent" ? "Created" : "Updated"} ${path} (${sizeWords(bytes.length)}).`;
  return { content: did, summary: did };
}

import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";
import { defineTool, toolError, wrongCall } from "../define-tool.ts";
import { hashFileBytes, nothingShown, readKnownFile, replaceFile, formatSize } from "./text-file.ts";

const input = z.strictObject({
  file_path: z.string(),
  content: z.string(),
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
      const resolved = await resolveRealPath(file_path, context.cwd);
      if (resolved.kind === "refused") return wrongCall(resolved.message);
      if (isSpecialPath(resolved.path)) return wrongCall(`${resolved.path}: nothing is written there`);
      return {
        kind: "ready",
        acts: [{ kind: "write", path: resolved.path }],
        run: () => writeWholeFile({ path: resolved.path, content, context }),
      };
    },
  });

async function writeWholeFile({
  path,
  content,
  context,
}: {
  readonly path: string;
  readonly content: string;
  readonly context: ToolContext;
}): Promise<ToolOutcome> {
  const before = await readKnownFile(context.files, path);
  if (before.kind === "refused") return toolError(before.message);
  const bytes = Buffer.from(content, "utf8");
  const replaced = await replaceFile({ path, bytes, mode: before.kind === "seen" ? before.file.mode : undefined });
  if (replaced.kind === "refused") return toolError(replaced.message);
  context.files.set(path, {
    hash: hashFileBytes(bytes),
    modifiedMs: replaced.modifiedMs,
    lines: nothingShown,
    shownBy: context.toolUse,
  });
  const summary = `${before.kind === "absent" ? "Created" : "Updated"} ${path} (${formatSize(bytes.length)}).`;
  return { content: summary, summary };
}

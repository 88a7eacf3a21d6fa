import type { Memories, MemoryRevision } from "palimpsest/internal/ports/memories";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { findMemory } from "../../memory/find-memory.ts";
import { changedLinesText, memoryLogText } from "../../memory/memory-text.ts";
import { lookAtMemories, noMemories } from "../../memory/open-memories.ts";

export const logCommand = command({
  name: "log",
  summary: "list the revisions of the memories, newest first",
  operands: {
    memory: {
      shown: "memory",
      summary: "only those that changed it: its path, its name, or the beginning of either",
      takes: "optional",
    },
  },
  options: { diff: { type: "boolean", summary: "show what each revision changed" } },
  json: "an array: id, at, author, provenance, message, changes (path, before, after)",
  run: async (context, { operands, options, format }) => {
    const memories = await lookAtMemories(context);
    const revisions = memories === undefined ? [] : await memories.history(await pathToShow(memories, operands.memory));
    if (format === "json") await context.out.json(revisions);
    else if (memories === undefined || revisions.length === 0) await context.out.write(noMemories);
    else if (options.diff) {
      for (const revision of revisions)
        await context.out.write(`${memoryLogText([revision])}${await diffText(memories, revision)}\n`);
    } else await context.out.write(memoryLogText(revisions));
    return exitCode.fine;
  },
});

/** A memory that was deleted has a history too: then the path counts as it was typed. */
async function pathToShow(memories: Memories, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const found = await findMemory(memories, name);
  if (found.kind === "found") return found.memory.path;
  return name.endsWith(".md") ? name : `${name}.md`;
}

async function diffText(memories: Memories, { changes }: MemoryRevision): Promise<string> {
  const parts: string[] = [];
  for (const { path, before, after } of changes) {
    const old = before === undefined ? "" : await memories.text(before);
    const now = after === undefined ? "" : await memories.text(after);
    const text = old === undefined || now === undefined ? "  its text was forgotten" : changedLinesText(old, now);
    parts.push(`${path}\n${text}\n`);
  }
  return parts.join("");
}

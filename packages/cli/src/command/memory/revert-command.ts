import { millis } from "palimpsest/internal/schema/brand";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { findWholeName } from "../../memory/find-memory.ts";
import { openMemories } from "../../memory/open-memories.ts";
import { revertMemory } from "../../memory/revert-memory.ts";

export const revertCommand = command({
  name: "revert",
  summary: "take a revision of the memories back",
  operands: {
    revision: { shown: "revision", summary: "as `palimpsest memory log` shows it" },
    memory: { shown: "memory", summary: "only this one of the revision's files", takes: "optional" },
  },
  json: "revision: the one that was written",
  details: [
    "A revision is taken back whole: a dream that changed ten files is one. A file that was changed later is refused (exit code 5).",
    "Nothing is lost: a revert is a revision, and can be reverted.",
  ],
  run: async (context, { operands, format }) => {
    const opened = await openMemories(context);
    if (opened.kind === "failure") return opened;
    const { memories } = opened;
    let path = operands.memory;
    if (path !== undefined) {
      const found = await findWholeName(memories, path);
      // A deleted memory is in the history only; its path still names it.
      if (found.kind === "found") path = found.memory.path;
    }
    const outcome = await revertMemory(memories, { revision: operands.revision, path, at: millis(Date.now()) });
    if (outcome.kind === "failure") return outcome;
    if (format === "json") await context.out.json({ revision: outcome.revision });
    else await context.out.write(`${outcome.message}\n`);
    return exitCode.fine;
  },
});

import { canAskUser } from "../../compact/ask-to-commit.ts";
import { command } from "../../program/command.ts";
import { askYesNo } from "../../program/ask-yes-no.ts";
import { exitCode, failure } from "../../program/failure.ts";
import { findWholeName } from "../../memory/find-memory.ts";
import { describeForget, forgetMemory } from "../../memory/forget-memory.ts";
import { openMemories } from "../../memory/open-memories.ts";

export const forgetCommand = command({
  name: "forget",
  summary: "remove memories with their history and what was made from them",
  operands: {
    memories: { shown: "memory", summary: "whole paths (`.md` may be left out) or whole names", takes: "some" },
  },
  options: { yes: { type: "boolean", short: "y", summary: "do not ask" } },
  json: "paths: what is gone",
  details: [
    "Nothing of them is left in the memory folder. `palimpsest memory revert` takes a change back and keeps history; this does not.",
    "The conversations they came from still hold the words; `palimpsest sessions delete` removes those.",
  ],
  run: async (context, { operands, options, format }) => {
    const opened = await openMemories(context);
    if (opened.kind === "failure") return opened;
    const { memories } = opened;
    const paths: string[] = [];
    for (const name of operands.memories) {
      const found = await findWholeName(memories, name);
      if (found.kind === "failure") return found;
      paths.push(found.memory.path);
    }
    if (!options.yes) {
      if (!canAskUser(context))
        return failure({
          code: exitCode.refused,
          message: "nothing was forgotten: there is nobody to ask",
          hint: "--yes forgets without asking.",
        });
      if ((await askYesNo(context, await describeForget(memories, paths))) === "no") {
        await context.err.write("Kept.\n");
        return exitCode.negative;
      }
    }
    const outcome = await forgetMemory(memories, paths);
    if (outcome.kind === "failure") return outcome;
    if (format === "json") await context.out.json({ paths: outcome.paths });
    else await context.out.write(`${outcome.message}\n`);
    return exitCode.fine;
  },
});

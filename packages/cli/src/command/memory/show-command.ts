import { command } from "../../program/command.ts";
import { exitCode, failure } from "../../program/failure.ts";
import { findMemory } from "../../memory/find-memory.ts";
import { memoryFacts } from "../../memory/memory-text.ts";
import { lookAtMemories, noMemories } from "../../memory/open-memories.ts";

export const showCommand = command({
  name: "show",
  summary: "print a memory, and where it came from",
  operands: { memory: { shown: "memory", summary: "its path, its name, or the beginning of either" } },
  json: "path, name, description, type, text, author, trust, provenance, revision, hash, modifiedMs, sizeBytes",
  details: ["The text goes to stdout, what is known about it to stderr."],
  run: async (context, { operands, format }) => {
    const memories = await lookAtMemories(context);
    if (memories === undefined) return failure({ code: exitCode.notFound, message: noMemories.trim() });
    const found = await findMemory(memories, operands.memory);
    if (found.kind === "failure") return found;
    const memory = await memories.read(found.memory.path);
    if (memory === undefined)
      return failure({ code: exitCode.notFound, message: `${found.memory.path} was removed meanwhile` });
    if (format === "json") {
      await context.out.json(memory);
      return exitCode.fine;
    }
    await context.out.write(memory.text.endsWith("\n") ? memory.text : `${memory.text}\n`);
    const place = memories.linkTo?.(memory.path);
    const facts = [
      ...memoryFacts(memory, { nowMs: Date.now() }),
      ...(place === undefined ? [] : [["file", place] as const]),
    ];
    await context.err.write(`\n${facts.map(([label, value]) => `${label.padEnd(8)} ${value}`).join("\n")}\n`);
    return exitCode.fine;
  },
});

import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { memoryListText } from "../../memory/memory-text.ts";
import { lookAtMemories, noMemories } from "../../memory/open-memories.ts";

export const listCommand = command({
  name: "list",
  summary: "list this project's memories",
  options: { all: { type: "boolean", summary: "also the index and the day's logs" } },
  json: "an array: path, role, name, description, type, author, trust, provenance (session, messages, at, trust), revision, hash, modifiedMs, sizeBytes",
  run: async (context, { options, format }) => {
    const all = (await (await lookAtMemories(context))?.list()) ?? [];
    const memories = options.all ? all : all.filter(({ role }) => role === "memory");
    if (format === "json") await context.out.json(memories);
    else if (memories.length === 0) await context.out.write(noMemories);
    else await context.out.write(memoryListText(memories, { nowMs: Date.now(), columns: context.out.columns ?? 100 }));
    return exitCode.fine;
  },
});

import { checkInstructions, checkMemories, memoryCheckText } from "../../memory/check-memory.ts";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { formatInstructionReport } from "../../text/instruction-report.ts";

export const checkCommand = command({
  name: "check",
  summary:
    "list the instruction files that a session here loads, with their size and cost, and what is wrong with memories",
  options: { model: { type: "string", shown: "model", summary: "the model whose prices count" } },
  json: "model, files (path, scope, chars, tokens, importedBy, fetchedOn), rules (path, scope, patterns, chars, tokens), chars, tokens, money (firstDollars, laterDollars, requests, sessionDollars), warnings, memory (memories, untrusted, drifted, notImported)",
  details: [
    "Addresses that the settings name are fetched, as a session would. Tokens are estimates.",
    "Nothing outside of the project is read unless you have allowed it.",
    "A memory that names files or commands that no longer exist is flagged, here and when a session loads it.",
  ],
  run: async (context, { options, format }) => {
    const report = await checkInstructions(context, options);
    const memory = await checkMemories(context);
    if (format === "json") await context.out.json({ ...report, money: report.money ?? null, memory });
    else await context.out.write(`${formatInstructionReport(report)}\n${memoryCheckText(memory)}\n`);
    return exitCode.fine;
  },
});

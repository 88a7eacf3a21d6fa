import { command } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { findCommand } from "../program/find-command.ts";
import { exitCodesText, helpText } from "../program/help-text.ts";

export const helpCommand = command({
  name: "help",
  summary: "show what palimpsest or one of its commands does",
  operands: {
    words: { shown: "command", summary: "a command, then its sub-command, or exit-codes", takes: "many" },
  },
  run: async ({ out, program }, { operands: { words } }) => {
    if (words.length === 1 && words[0] === "exit-codes") {
      await out.write(exitCodesText(out.style));
      return exitCode.fine;
    }
    const found = await findCommand(program, words);
    if (found.kind === "failure") return found;
    await out.write(helpText({ command: found.command, called: found.called, style: out.style }));
    return exitCode.fine;
  },
});

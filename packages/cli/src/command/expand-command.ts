import { command } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { expandInLog, originalOrFailure } from "../session/resolve-recall.ts";
import { openNamedLog } from "../session/named-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const expandCommand = command({
  name: "expand",
  summary: "print the original behind an id, byte for byte",
  operands: {
    session: sessionOperand,
    id: {
      shown: "id",
      summary:
        "an entry's uuid or a prefix of it (4 characters or more), a tool call's id, a blob's hash, or an agent's id (agent-…)",
    },
  },
  details: [
    "An entry's uuid gives its line in the log; a tool call's id the result as the tool returned it (text as text, blocks as JSON); a hash the blob; an agent's id its whole report.",
  ],
  run: async (context, { operands: { session, id } }) => {
    const log = await openNamedLog(context, session);
    if (log.kind === "failure") return log;
    try {
      const original = originalOrFailure({ id, path: log.path, expanded: await expandInLog(log, id) });
      if (original.kind === "failure") return original;
      await context.out.bytes(original.bytes);
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

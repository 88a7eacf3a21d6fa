import { expand } from "../../loop/expand.ts";
import { command } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { failure } from "../failure.ts";
import { openNamedLog } from "../named-log.ts";
import { sessionOperand } from "../session-operand.ts";

export const expandCommand = command({
  name: "expand",
  summary: "print the original behind an id, byte for byte",
  operands: {
    session: sessionOperand,
    id: { shown: "id", summary: "an entry's uuid or its first 8 characters, a tool call's id, or a blob's hash" },
  },
  details: [
    "An entry's uuid gives its line as it stands in the log; a tool call's id the result as the tool returned it (text as text, blocks as JSON); a hash the blob.",
  ],
  run: async (context, { operands }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const expanded = await expand(log, log.source, operands.id);
      if (expanded.kind === "not-found") {
        return failure({
          code: exitCode.notFound,
          message: `nothing in ${log.path} has the id ${operands.id}`,
          hint: "`palimpsest view --json` lists the ids of calls and repairs.",
        });
      }
      if (expanded.kind === "ambiguous") {
        return failure({
          code: exitCode.usage,
          message: `${operands.id} is the beginning of ${expanded.candidates.length} entries`,
          hint: `Write more of the id: ${expanded.candidates.slice(0, 4).join(", ")}${expanded.candidates.length > 4 ? ", …" : ""}`,
        });
      }
      if (expanded.kind === "unanswered") {
        return failure({
          code: exitCode.notFound,
          message: `the call ${operands.id} has no result in ${log.path}`,
          hint: "Its entry's uuid gives the call itself.",
        });
      }
      if (expanded.kind === "blob-missing") {
        return failure({
          code: exitCode.notFound,
          message: `the blob ${expanded.blob} that holds it is gone or damaged`,
          hint: "Restore the project's blobs folder from a backup.",
        });
      }
      await context.out.bytes(expanded.bytes);
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

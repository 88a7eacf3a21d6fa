import { resolve } from "node:path";
import { fileLines } from "@palimpsest/simulator/internal/trace/trace-file";
import { readTrace, type Trace } from "@palimpsest/simulator/internal/trace/reader";
import { isAbsent } from "palimpsest/internal/store/files/failure";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { type Failure, failure } from "./failure.ts";
import type { Operand } from "./parse.ts";

export const traceOperand = {
  shown: "trace",
  summary: "a file that the simulator traced to",
} as const satisfies Operand;

/** Reads the trace that a person named, and notes on stderr that its end is missing. */
export async function openNamedTrace(
  { cwd, err }: Pick<CommandContext, "cwd" | "err">,
  name: string,
): Promise<{ readonly kind: "trace"; readonly trace: Trace } | Failure> {
  const reading = await readTrace(fileLines(resolve(cwd, name))).catch((error: unknown) => {
    if (isAbsent(error)) return { kind: "absent" } as const;
    throw error;
  });
  switch (reading.kind) {
    case "trace":
      if (reading.trace.torn) await err.write("note: its last line was not written whole and is left out\n");
      return reading;
    case "absent":
      return failure({ code: exitCode.notFound, message: `no file is called ${name}` });
    case "not-a-trace":
      return failure({ code: exitCode.negative, message: `${name} is no trace: ${reading.message}` });
    case "damaged":
      return failure({
        code: exitCode.negative,
        message: `${name} is damaged in line ${reading.line}: ${reading.message}`,
      });
  }
}

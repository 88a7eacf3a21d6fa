import type { Operand } from "./parse.ts";

/** How every command that reads a log takes its name. */
export const sessionOperand = {
  shown: "session|file",
  summary: "a session's id, the beginning of one, or a transcript's path",
} as const satisfies Operand;

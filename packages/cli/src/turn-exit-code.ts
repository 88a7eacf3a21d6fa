import type { TurnEndEvent } from "palimpsest/internal/schema/event";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { refusalCode } from "./writing-failure.ts";

/** Scripts learn from it whether a turn was answered, and tell a full disk from a model that failed. Undefined: it had no end. */
export function turnExitCode(end: Pick<TurnEndEvent, "reason" | "unwritten"> | undefined): ExitCode {
  if (end?.unwritten !== undefined) return refusalCode(end.unwritten);
  return end?.reason === "answered" ? exitCode.fine : exitCode.negative;
}

import type { LoopEvent } from "palimpsest/internal/schema/event";
import { oneLine } from "./human.ts";

/** A line on stderr. What a hook says, to a person or by failing, is told as its own: most of it warns of nothing. */
export const hookOrWarning = ({ code, message }: Extract<LoopEvent, { kind: "warning" }>): string =>
  `${code === "hook" ? "hook" : "warning"}: ${oneLine(message)}\n`;

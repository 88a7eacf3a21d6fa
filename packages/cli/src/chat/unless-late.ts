import { setTimeout as wait } from "node:timers/promises";
import type { Millis } from "palimpsest/internal/schema/brand";

/** Waits for it, but not for ever: what is late goes on by itself, and its failure is nobody's. */
export async function unlessLate(act: Promise<void>, ms: Millis): Promise<"done" | "late"> {
  const over = new AbortController();
  const late = wait(ms, "late" as const, { signal: over.signal }).catch(() => "late" as const);
  const done = act.then(() => "done" as const);
  done.catch(() => undefined);
  return await Promise.race([done, late]).finally(() => over.abort());
}

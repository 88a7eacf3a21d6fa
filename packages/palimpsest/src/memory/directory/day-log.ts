import { parseMemory } from "./memory-text.ts";
import type { MemoryChange } from "../../ports/memories.ts";
import type { Millis, SessionId } from "../../schema/brand.ts";

/** `logs/2026/11/17.md`, by the day in UTC. */
export const dayLogPath = (at: Millis): string => `logs/${isoTime(at).slice(0, 10).replaceAll("-", "/")}.md`;

interface LoggedChanges {
  readonly changes: readonly MemoryChange[];
  readonly at: Millis;
  readonly session: SessionId | undefined;
}

/**
 * The day's log with one more line for each change: when, which memory, what it is about and where it came from. A dream
 * reads it. Nothing of an untrusted memory is repeated.
 */
export function appendDayLog(log: string | undefined, { changes, at, session }: LoggedChanges): string {
  const heading = `# Memories of ${isoTime(at).slice(0, 10)}`;
  const from = session === undefined ? "" : ` (session ${session})`;
  const time = isoTime(at).slice(11, 16);
  const lines = changes.map(({ path, text, provenance }) => {
    // Not even its path, which the model chose: the log counts as ours.
    if (provenance?.trust === "untrusted") return `- ${time} changed a memory that came from outside${from}`;
    return text === undefined
      ? `- ${time} deleted ${path}${from}`
      : `- ${time} saved ${path}: ${parseMemory(text, path).description}${from}`;
  });
  return `${[(log ?? heading).trimEnd(), ...lines].join("\n")}\n`;
}

const isoTime = (at: Millis): string => new Date(at).toISOString();

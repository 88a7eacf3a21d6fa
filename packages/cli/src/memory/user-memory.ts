import { formatMemory } from "palimpsest/internal/memory/directory/memory-text";
import type { MemoryDraft } from "palimpsest/internal/memory/directory/memory-history";
import type { MemoryType } from "palimpsest/internal/ports/memories";
import { clip } from "../text/format.ts";

/** What a user wrote behind `#`, as a memory: its name and description are taken from the first line. */
export function userMemory(said: string, type: MemoryType): MemoryDraft {
  const body = said.trim();
  const [first = ""] = body.split("\n");
  const name = clip(first.replace(/[.!?:;,\s]+$/, ""), nameCharsMax);
  return { name, description: clip(first, descriptionCharsMax), type, body };
}

const nameCharsMax = 60;
const descriptionCharsMax = 150;

/** Text for a file that a user creates in an editor. */
export const memoryTemplate = (name: string): string =>
  formatMemory({
    name,
    description: "one line that tells when this matters",
    type: "project",
    body: "What to remember. Absolute dates; no secrets.",
  });

/**
 * The type that the words suggest, offered first: `reference` if it names an address, `feedback` if it says how work is to
 * be done, `user` if the user speaks of themselves, else `project`.
 */
export function guessMemoryType(said: string): MemoryType {
  if (/\bhttps?:\/\//i.test(said)) return "reference";
  if (/\b(?:always|never|don'?t|do not|prefer|please|use|avoid|stop|must|should)\b/i.test(said)) return "feedback";
  if (/^\s*(?:i|i'm|i’m|my|me)\b/i.test(said)) return "user";
  return "project";
}

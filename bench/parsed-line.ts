import { readEntry } from "../packages/palimpsest/src/schema/entry.ts";
import { parseJson } from "../packages/palimpsest/src/schema/json.ts";
import type { LoggedEntry } from "../packages/palimpsest/src/transcript/read-lines.ts";

/** Parses a line of a generated log, as a session does after writing it. */
export function parsed(line: string): LoggedEntry {
  const reading = readEntry(parseJson(line));
  if (reading.kind !== "entry") throw new Error(reading.why);
  return { entry: reading.entry, start: 0, end: line.length };
}

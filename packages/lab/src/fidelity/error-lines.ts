import { errorLinesMax } from "./limits.ts";
import { oneLine } from "./user-words.ts";

export interface ResultReading {
  readonly text: string;
  /** The tool itself said that it failed. */
  readonly failed: boolean;
  /** Whether its text is what something said that ran, or content: only what ran tells of errors. */
  readonly of: "command" | "content";
}

/** The lines by which a result says that something went wrong, the first ones. */
export function errorLinesIn({ text, failed, of }: ResultReading): readonly string[] {
  const lines = text
    .replaceAll(clientsFrame, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !neverRun.test(line));
  const telling = failed || of === "command" ? lines.filter((line) => errorForm.test(line)) : [];
  const chosen = telling.length > 0 ? telling : failed ? lines.filter((line) => /\w{3}/.test(line)).slice(0, 1) : [];
  return [...new Set(chosen.map(oneLine))].filter((line) => line !== "").slice(0, errorLinesMax);
}

/** A client's remark on a call that it did not make, since another of the same reply failed: that one has a result of its own. */
const neverRun = /^\s*Sibling tool call errored\s*$/;

/** Some clients put what a tool refused into a tag of theirs. */
const clientsFrame = /<\/?tool_use_error>/g;

const errorForm = new RegExp(
  [
    String.raw`^\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b\s*[:(]`,
    String.raw`^\s*(?:error|fatal|panic)(?:\[\w+\])?:`,
    String.raw`^\s*E {3}\S`,
    String.raw`^\s*(?:--- FAIL:|FAIL|FAILED|✗|✖|×)\s+\S`,
    String.raw`^npm (?:ERR!|error) \S`,
    String.raw`\berror TS\d+:|:\d+(?::\d+)?: error\b`,
    String.raw`: (?:command not found|No such file or directory|Permission denied)\s*$`,
    String.raw`\b[1-9]\d* (?:tests? )?failed\b`,
  ].join("|"),
);

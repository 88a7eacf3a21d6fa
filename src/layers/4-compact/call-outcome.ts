import type { ToolResultBlock } from "../../schema/block.ts";
import { clipped } from "../1-offload/cut.ts";
import { refusalOf } from "../2-clear/refusal.ts";
import { resultText } from "../2-clear/result-text.ts";
import { errorCharsMax, errorSearchChars } from "./fact-limits.ts";

/** How a call ended. */
export type CallOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly line: string; readonly exitCode?: number }
  /** A person did not let it run. */
  | { readonly kind: "refused" }
  /** It did not come to run, and that says nothing of its own: another call of the same reply failed. */
  | { readonly kind: "not-run" };

/** Looks at both ends of a result, however long it is. */
export function outcomeOf(result: ToolResultBlock, subject: "command" | "other"): CallOutcome {
  const said = ends(resultText(result));
  const exitCode = subject === "command" ? exitCodeIn(said) : undefined;
  if (result.is_error !== true && (exitCode ?? 0) === 0) return { kind: "done" };
  if (refusalOf(result) !== undefined) return { kind: "refused" };
  if (/\bsibling tool call\b/i.test(said.slice(0, errorCharsMax))) return { kind: "not-run" };
  return { kind: "failed", line: errorLine(said), ...(exitCode === undefined ? {} : { exitCode }) };
}

const ends = (text: string): string =>
  text.length <= 2 * errorSearchChars
    ? text
    : `${clipped(text, errorSearchChars)}\n${text.slice(-errorSearchChars).toWellFormed()}`;

/** As the agents in the field write it: before the output, behind it, or as JSON around it. */
const exitForms: readonly RegExp[] = [
  /^exit code:? (\d+)/i,
  /\[exit code (\d+)\]\s*$/i,
  /^Process exited with code (\d+)/m,
  /"exit_code":\s*(\d+)/,
];

function exitCodeIn(said: string): number | undefined {
  for (const form of exitForms) {
    const found = form.exec(said)?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}

const tellsError =
  /\b(?:[A-Z]\w*)?(?:Error|Exception)\b|\berror\b[:[( ]|\bfatal\b|\bpanic\b|\bFAIL(?:ED|URE)?\b|\bnot found\b|\bno such\b|\bdenied\b|\b[1-9]\d* failed\b|\bfailed\b/i;
const tellsNothing = /^(?:exit code:? \d+|\[exit code \d+\]|chunk id:.*|wall time:.*|output:|command:.*)?$/i;

/** The first line that names an error, else the first that says anything. */
function errorLine(said: string): string {
  const lines = said
    .split("\n")
    .map((line) => line.replaceAll(/<\/?tool_use_error>/g, "").trim())
    .filter((line) => !tellsNothing.test(line));
  return clipped(lines.find((line) => tellsError.test(line)) ?? lines[0] ?? said, errorCharsMax);
}

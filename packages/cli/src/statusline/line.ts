import type { HookEnd } from "../tool/hooks/process.ts";
import { printable } from "palimpsest/internal/schema/printable";
import { statuslineLinesMax } from "../tui/limits.ts";
import { statuslineCharsMax } from "./limits.ts";

export type StatusLine =
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | { readonly kind: "failed"; readonly why: string };

/** What a statusline command's end says; undefined where a newer run has taken its place. */
export function statusLineOf(end: HookEnd): StatusLine | undefined {
  switch (end.kind) {
    case "exited":
      if (end.code !== 0) return failed(`ended with exit code ${end.code}${firstWords(end.stderr.text)}`);
      return { kind: "lines", lines: styledLines(end.stdout.text) };
    case "killed":
      return failed(`was ended by ${end.signal}`);
    case "timed-out":
      return failed("did not end within its time limit and was ended");
    case "not-started":
      return failed(`could not be started: ${end.why}`);
    case "aborted":
      return undefined;
  }
}

/** Of what it complained about, the first line. */
function firstWords(complaint: string): string {
  const [first] = styledLines(complaint.replaceAll(style, ""));
  return first === undefined ? "" : `: ${first.trim().replace(/\.$/, "")}`;
}

const failed = (why: string): StatusLine => ({ kind: "failed", why });

/** The first lines that say something. Colours and weights are their own; whatever else would drive the terminal is shown instead. */
export const styledLines = (output: string): readonly string[] =>
  output
    .split(/\r?\n/)
    .filter((line) => line.replaceAll(style, "").trim() !== "")
    .slice(0, statuslineLinesMax)
    .map(styledLine);

function styledLine(line: string): string {
  const cut = line.slice(0, statuslineCharsMax);
  const styles = cut.match(style) ?? [];
  const text = cut
    .split(style)
    .map((part, index) => `${printable(part.replaceAll("\t", " "))}${styles[index] ?? ""}`)
    .join("");
  return styles.length === 0 ? text : `${text}${reset}`;
}

// oxlint-disable-next-line no-control-regex -- what is looked for is a control character
const style = /\u001B\[[\d;:]*m/g;
const reset = "\u001B[0m";

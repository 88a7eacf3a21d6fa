import { clipped } from "../1-offload/cut.ts";
import type { CallSubject } from "./call-subject.ts";
import { errorCharsMax, errorLinesMax } from "./fact-limits.ts";

/**
 * The lines by which a failed result says what went wrong. Of a command those in a form that a compiler, test runner or
 * interpreter gives its errors; where no form is known, those that speak of one and how the output begins; behind either
 * its exit code. Of another tool its first line: what it repeats of its input comes behind.
 */
export function failureLines(said: string, of: CallSubject["kind"]): readonly string[] {
  const lines = plainLines(said);
  const saying = lines.filter((line) => !isExitLine(line) && !clientsFrame.test(line));
  const reported = saying.filter((line) => reportsError.test(line));
  if (of !== "command") return firstOf([...saying.slice(0, 1), ...reported]);
  const guessed = saying.filter((line) => speaksOfError.test(line)).slice(0, errorLinesMax - 1);
  const telling = reported.length > 0 ? reported : [...guessed, ...saying.slice(0, 1)];
  return [...firstOf(telling), ...lines.filter(isExitLine).slice(0, 1)];
}

/** How a command ended, and nothing of why. */
export const isExitLine = (line: string): boolean =>
  /^(?:exit code:? \d+|\[exit code \d+\]|process exited with code \d+)$/i.test(line);

/**
 * The lines by which the output of a command reports errors although it ended well. Where it shows what is in files, only
 * what it says itself: an error there is somebody else's.
 */
export function reportedLines(said: string, command: string): readonly string[] {
  const form = showsContent.test(command) ? shellsComplaint : reportsError;
  return firstOf(plainLines(said).filter((line) => form.test(line)));
}

const firstOf = (lines: readonly string[]): readonly string[] => [...new Set(lines)].slice(0, errorLinesMax);

/** Some clients put what a tool refused into a tag of theirs, and colours say nothing. */
const clientsMarks = /<\/?(?:tool_use_)?error>|\p{Cc}\[[\d;]*m/gu;

const plainLines = (said: string): readonly string[] =>
  said
    .replaceAll(clientsMarks, "")
    .split("\n")
    .map((line) =>
      clipped(
        clipped(line, 4 * errorCharsMax)
          .replaceAll(/\s+/g, " ")
          .trim(),
        errorCharsMax,
      ).trimEnd(),
    )
    .filter((line) => line !== "");

/** What a client writes around the output. */
const clientsFrame = /^(?:chunk id:.*|wall time:.*|original token count:.*|output:|command:.*)$/i;

const speaksOfError =
  /\b(?:[A-Z]\w*)?(?:Error|Exception)\b|\berror\b[:[( ]|\bfatal\b|\bpanic\b|\bFAIL(?:ED|URE)?\b|\bnot found\b|\bno such\b|\bdenied\b|\b[1-9]\d* failed\b|\bfailed\b|\btimed out\b|\baborted\b|\bkilled\b/i;

const shellsComplaint = /^[\w./-]+: .*(?:command not found|No such file or directory|Permission denied)$/;

/** As tools write it at the place where they report: a word in a sentence is none of these. */
const reportsError = new RegExp(
  [
    // Python, JavaScript, Java: the name of an error and what it says. pytest sets an E before it.
    String.raw`^(?:E )?(?:Uncaught )?(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b ?[:([]`,
    String.raw`^E [A-Za-z]`,
    // Rust, git, compilers and most other programs.
    String.raw`^(?:error|fatal|panic|fatal error)(?:\[\w+\])?:`,
    String.raw`^thread '[^']*'.* panicked at`,
    // Go, pytest and jest: a test or a suite that failed.
    String.raw`^(?:--- FAIL:|FAIL(?:ED)?\b|✗|✖|✕|×|●) ?\S`,
    String.raw`^npm (?:ERR!|error) `,
    // TypeScript, C, linters: the place in front.
    String.raw`\berror TS\d+:`,
    String.raw`^\S+:\d+(?::\d+)?:? (?:fatal )?error\b`,
    // Go's compiler and vet have no word for it.
    String.raw`^(?:vet: )?\S+\.go:\d+:\d+: `,
    // Shells.
    String.raw`: (?:command not found|No such file or directory|Permission denied)$`,
    String.raw`^(?:\S+: )?command not found: `,
    String.raw`\b[1-9]\d* (?:tests? )?failed\b`,
  ].join("|"),
);

/** Its exit code is not that of everything it runs: a pipe, another command follows, and that one's comes last. */
export const hidesExitCode = (command: string): boolean => /[|;\n]|&\s*$/.test(command);
const showsContent =
  /^\s*(?:cd\s[^&;\n]*(?:&&|;)\s*)?(?:cat|head|tail|less|grep|rg|ag|sed|awk|find|ls|jq|echo|git (?:-\S+ )*(?:log|show|diff|grep|blame)|gh (?:api|search|\S+ (?:view|list|diff|status|checks)))\b/;

import type { ToolResultBlock, ToolUseBlock } from "../../../schema/block.ts";
import { clipText } from "../../clip-text.ts";
import { findRefusal, resultText } from "../../2-clear/result-text.ts";
import { errorCharsMax, errorSearchChars, commandCharsMax, pathCharsMax, errorLinesMax } from "../limits.ts";
import { field, isArray, type JsonObject, textField } from "../../../schema/json.ts";
import { fileAction, callFilePath } from "../../../tokens/tool-kind.ts";

/** How a call ended. */
export type CallOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly line: string; readonly exitCode?: number }
  /** A person did not let it run. */
  | { readonly kind: "refused" }
  /** It did not come to run, and that says nothing of its own: another call of the same reply failed. */
  | { readonly kind: "not-run" };

export interface CallEnd {
  readonly outcome: CallOutcome;
  /** By which the result tells of an error: of a command that ended well too, where its exit code may hide one. */
  readonly errorLines: readonly string[];
  /** In which a command that ended well speaks of errors all the same: those of others, or that it got over. */
  readonly passingLines: readonly string[];
}

/** Looks at both ends of a result, however long it is. */
export function readCallEnd(result: ToolResultBlock, subject: CallSubject): CallEnd {
  const said = ends(resultText(result));
  const exitCode = subject.kind === "command" ? exitCodeIn(said) : undefined;
  if (result.is_error !== true && (exitCode ?? 0) === 0) {
    return {
      ...silent,
      outcome: { kind: "done" },
      ...(subject.kind === "command" ? findReportedErrors(said, subject) : {}),
    };
  }
  if (findRefusal(result) !== undefined) return { ...silent, outcome: { kind: "refused" } };
  if (/\bsibling tool call\b/i.test(said.slice(0, errorCharsMax))) return { ...silent, outcome: { kind: "not-run" } };
  const errorLines = failureLines(said, subject.kind);
  const line = errorLines[0] ?? "";
  const outcome = { kind: "failed" as const, line, ...(exitCode === undefined ? {} : { exitCode }) };
  return { ...silent, outcome, errorLines };
}

const silent: Pick<CallEnd, "errorLines" | "passingLines"> = { errorLines: [], passingLines: [] };

function findReportedErrors(said: string, { command }: Extract<CallSubject, { kind: "command" }>): Partial<CallEnd> {
  const lines = findReportedLines(said, command);
  return hidesExitCode(command) ? { errorLines: lines } : { passingLines: lines };
}

const ends = (text: string): string =>
  text.length <= 2 * errorSearchChars
    ? text
    : `${clipText(text, errorSearchChars)}\n${text.slice(-errorSearchChars).toWellFormed()}`;

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

/** What a call is about. A call of several files is a patch. */
export type CallSubject =
  | { readonly kind: "file"; readonly act: "read" | "write"; readonly paths: readonly string[] }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "tool" };

export function parseSubject(call: ToolUseBlock): CallSubject {
  const name = plainName(call.name);
  const command = commandText(call.input);
  const patched = findPatchedPaths(patchText(call.input) ?? command);
  if (patched.length > 0) return { kind: "file", act: "write", paths: patched };
  const path = callFilePath(call);
  const act = editors.test(name) ? editorAct(call.input) : fileAction(name);
  if (path !== undefined && path.trim() !== "" && act !== undefined)
    return { kind: "file", act, paths: [clipText(path, pathCharsMax)] };
  return command === undefined ? { kind: "tool" } : { kind: "command", command: clipText(command, commandCharsMax) };
}

/**
 * Under which name success ends what a failure began: the same command, whatever its output is cut down to, the same
 * file, whatever was done to it, else the same tool.
 */
export function subjectKeys(subject: CallSubject, tool: string): readonly string[] {
  switch (subject.kind) {
    case "file":
      return subject.paths.map((path) => `file ${path}`);
    case "command":
      return [`command ${plainCommand(subject.command)}`];
    case "tool":
      return [`tool ${tool}`];
  }
}

/** Tools of MCP servers carry the server's name in front. */
const plainName = (name: string): string => name.split("__").at(-1) ?? name;

/** Editors that take what to do as an argument. */
const editors = /^str_replace(?:_based)?_edit/i;
const editorAct = (input: JsonObject): "read" | "write" => (textField(input, "command") === "view" ? "read" : "write");

function commandText(input: JsonObject): string | undefined {
  const value = field(input, "command") ?? field(input, "cmd");
  if (typeof value === "string") return value.trim() === "" ? undefined : value;
  if (!isArray(value) || !value.every((part) => typeof part === "string")) return undefined;
  // Given as words, the shell itself often comes first: `bash -lc <line>`.
  const [shell = "", option = "", line] = value;
  return shell.endsWith("sh") && option.startsWith("-") && line !== undefined ? line : value.join(" ");
}

const patchKeys = ["patch", "input", "patchText"] as const;
const patchText = (input: JsonObject): string | undefined =>
  patchKeys.map((key) => textField(input, key)).find((value) => value !== undefined);

const patchStart = "*** Begin Patch";
const patchedFile = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm;

function findPatchedPaths(source: string | undefined): readonly string[] {
  if (source === undefined || !source.includes(patchStart)) return [];
  const named = [...source.matchAll(patchedFile)].map(([, path = ""]) => clipText(path.trim(), pathCharsMax));
  return [...new Set(named)].filter((path) => path !== "");
}

/** Without the folder it starts in and what is done with its output: `cd a && npm test 2>&1 | tail` is `npm test`. */
const plainCommand = (command: string): string =>
  command
    .replace(/^\s*cd\s[^&;\n]*(?:&&|;)/, "")
    .replace(/\s(?:2>|\|(?!\|)).*$/s, "")
    .replaceAll(/\s+/g, " ")
    .trim();

/**
 * The lines by which a failed result says what went wrong. Of a command those in a form that a compiler, test runner or
 * interpreter gives its errors; where no form is known, those that speak of one and how the output begins; behind either
 * its exit code. Of another tool its first line: what it repeats of its input comes behind.
 */
export function failureLines(said: string, of: CallSubject["kind"]): readonly string[] {
  const lines = plainLines(said);
  const saying = lines.filter((line) => !isExitLine(line) && !clientsFrame.test(line));
  const reported = saying.filter((line) => reportsError.test(line));
  if (of !== "command") return firstLines([...saying.slice(0, 1), ...reported]);
  const guessed = saying.filter((line) => speaksOfError.test(line)).slice(0, errorLinesMax - 1);
  const telling = reported.length > 0 ? reported : [...guessed, ...saying.slice(0, 1)];
  return [...firstLines(telling), ...lines.filter(isExitLine).slice(0, 1)];
}

/** How a command ended, and nothing of why. */
export const isExitLine = (line: string): boolean =>
  /^(?:exit code:? \d+|\[exit code \d+\]|process exited with code \d+)$/i.test(line);

/**
 * The lines by which the output of a command reports errors although it ended well. Where it shows what is in files, only
 * what it says itself: an error there is somebody else's.
 */
export function findReportedLines(said: string, command: string): readonly string[] {
  const form = showsContent.test(command) ? shellsComplaint : reportsError;
  return firstLines(plainLines(said).filter((line) => form.test(line)));
}

const firstLines = (lines: readonly string[]): readonly string[] => [...new Set(lines)].slice(0, errorLinesMax);

/** Some clients put what a tool refused into a tag of theirs, and colours say nothing. */
const clientsMarks = /<\/?(?:tool_use_)?error>|\p{Cc}\[[\d;]*m/gu;

const plainLines = (said: string): readonly string[] =>
  said
    .replaceAll(clientsMarks, "")
    .split("\n")
    .map((line) =>
      clipText(
        clipText(line, 4 * errorCharsMax)
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

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
  /** The user did not let it run. */
  | { readonly kind: "refused" }
  /** It did not run because another call of the same reply failed. */
  | { readonly kind: "not-run" };

export interface CallEnd {
  readonly outcome: CallOutcome;
  /** Lines with which the result reports an error; also of a command that succeeded, if its exit code may hide one. */
  readonly errorLines: readonly string[];
  /** Lines with which a successful command mentions errors: those of others, or ones that it recovered from. */
  readonly passingLines: readonly string[];
}

/** Reads only both ends of a result, however long it is. */
export function readCallEnd(result: ToolResultBlock, subject: CallSubject): CallEnd {
  const text = ends(resultText(result));
  const exitCode = subject.kind === "command" ? exitCodeIn(text) : undefined;
  if (result.is_error !== true && (exitCode ?? 0) === 0) {
    return {
      ...silent,
      outcome: { kind: "done" },
      ...(subject.kind === "command" ? findReportedErrors(text, subject) : {}),
    };
  }
  if (findRefusal(result) !== undefined) return { ...silent, outcome: { kind: "refused" } };
  if (/\bsibling tool call\b/i.test(text.slice(0, errorCharsMax))) return { ...silent, outcome: { kind: "not-run" } };
  const errorLines = failureLines(text, subject.kind);
  const line = errorLines[0] ?? "";
  const outcome = { kind: "failed" as const, line, ...(exitCode === undefined ? {} : { exitCode }) };
  return { ...silent, outcome, errorLines };
}

const silent: Pick<CallEnd, "errorLines" | "passingLines"> = { errorLines: [], passingLines: [] };

function findReportedErrors(text: string, { command }: Extract<CallSubject, { kind: "command" }>): Partial<CallEnd> {
  const lines = findReportedLines(text, command);
  return hidesExitCode(command) ? { errorLines: lines } : { passingLines: lines };
}

const ends = (text: string): string =>
  text.length <= 2 * errorSearchChars
    ? text
    : `${clipText(text, errorSearchChars)}\n${text.slice(-errorSearchChars).toWellFormed()}`;

/** As known agents write it: before the output, behind it, or as JSON around it. */
const exitForms: readonly RegExp[] = [
  /^exit code:? (\d+)/i,
  /\[exit code (\d+)\]\s*$/i,
  /^Process exited with code (\d+)/m,
  /"exit_code":\s*(\d+)/,
];

function exitCodeIn(text: string): number | undefined {
  for (const form of exitForms) {
    const code = form.exec(text)?.[1];
    if (code !== undefined) return Number(code);
  }
  return undefined;
}

/** What a call is about. A call with several files is a patch. */
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
 * The keys under which a success ends an earlier failure: the same command, however its output is cut; the same file,
 * whatever was done to it; else the same tool.
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

/** Tools of MCP servers have the server's name in front. */
const plainName = (name: string): string => name.split("__").at(-1) ?? name;

/** Editors that take the action as an argument. */
const editors = /^str_replace(?:_based)?_edit/i;
const editorAct = (input: JsonObject): "read" | "write" => (textField(input, "command") === "view" ? "read" : "write");

function commandText(input: JsonObject): string | undefined {
  const value = field(input, "command") ?? field(input, "cmd");
  if (typeof value === "string") return value.trim() === "" ? undefined : value;
  if (!isArray(value) || !value.every((part) => typeof part === "string")) return undefined;
  // In a list of words, the shell itself often comes first: `bash -lc <line>`.
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
  const paths = [...source.matchAll(patchedFile)].map(([, path = ""]) => clipText(path.trim(), pathCharsMax));
  return [...new Set(paths)].filter((path) => path !== "");
}

/** The command without its folder and what is done with its output: `cd a && npm test 2>&1 | tail` is `npm test`. */
const plainCommand = (command: string): string =>
  command
    .replace(/^\s*cd\s[^&;\n]*(?:&&|;)/, "")
    .replace(/\s(?:2>|\|(?!\|)).*$/s, "")
    .replaceAll(/\s+/g, " ")
    .trim();

/**
 * The lines of a failed result that say what went wrong. For a command: those in a format that compilers, test runners
 * and interpreters use for errors; if no format matches, those that mention an error and the first line; in both cases
 * followed by the exit code. For another tool: the first line, since what it repeats of its input comes later.
 */
export function failureLines(text: string, of: CallSubject["kind"]): readonly string[] {
  const lines = plainLines(text);
  const outputLines = lines.filter((line) => !isExitLine(line) && !clientFrame.test(line));
  const reported = outputLines.filter((line) => reportsError.test(line));
  if (of !== "command") return firstLines([...outputLines.slice(0, 1), ...reported]);
  const guessed = outputLines.filter((line) => mentionsError.test(line)).slice(0, errorLinesMax - 1);
  const chosen = reported.length > 0 ? reported : [...guessed, ...outputLines.slice(0, 1)];
  return [...firstLines(chosen), ...lines.filter(isExitLine).slice(0, 1)];
}

/** Whether a line only gives the exit code. */
export const isExitLine = (line: string): boolean =>
  /^(?:exit code:? \d+|\[exit code \d+\]|process exited with code \d+)$/i.test(line);

/**
 * The lines with which the output of a successful command reports errors. If it shows the content of files, only
 * complaints of the shell count: other errors are part of the content.
 */
export function findReportedLines(text: string, command: string): readonly string[] {
  const form = showsContent.test(command) ? shellComplaint : reportsError;
  return firstLines(plainLines(text).filter((line) => form.test(line)));
}

const firstLines = (lines: readonly string[]): readonly string[] => [...new Set(lines)].slice(0, errorLinesMax);

/** Some clients wrap errors into a tag; colours carry no information. */
const clientMarks = /<\/?(?:tool_use_)?error>|\p{Cc}\[[\d;]*m/gu;

const plainLines = (text: string): readonly string[] =>
  text
    .replaceAll(clientMarks, "")
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

/** Lines that a client adds around the output. */
const clientFrame = /^(?:chunk id:.*|wall time:.*|original token count:.*|output:|command:.*)$/i;

const mentionsError =
  /\b(?:[A-Z]\w*)?(?:Error|Exception)\b|\berror\b[:[( ]|\bfatal\b|\bpanic\b|\bFAIL(?:ED|URE)?\b|\bnot found\b|\bno such\b|\bdenied\b|\b[1-9]\d* failed\b|\bfailed\b|\btimed out\b|\baborted\b|\bkilled\b/i;

const shellComplaint = /^[\w./-]+: .*(?:command not found|No such file or directory|Permission denied)$/;

/** The formats in which tools report errors; a word in a sentence matches none of them. */
const reportsError = new RegExp(
  [
    // Python, JavaScript, Java: the name of an error and its message. pytest puts an E before it.
    String.raw`^(?:E )?(?:Uncaught )?(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b ?[:([]`,
    String.raw`^E [A-Za-z]`,
    // Rust, git, compilers and most other programs.
    String.raw`^(?:error|fatal|panic|fatal error)(?:\[\w+\])?:`,
    String.raw`^thread '[^']*'.* panicked at`,
    // Go, pytest and jest: a test or a suite that failed.
    String.raw`^(?:--- FAIL:|FAIL(?:ED)?\b|✗|✖|✕|×|●) ?\S`,
    String.raw`^npm (?:ERR!|error) `,
    // TypeScript, C, linters: with the place in front.
    String.raw`\berror TS\d+:`,
    String.raw`^\S+:\d+(?::\d+)?:? (?:fatal )?error\b`,
    // Go's compiler and vet write no word for "error".
    String.raw`^(?:vet: )?\S+\.go:\d+:\d+: `,
    // Shells.
    String.raw`: (?:command not found|No such file or directory|Permission denied)$`,
    String.raw`^(?:\S+: )?command not found: `,
    String.raw`\b[1-9]\d* (?:tests? )?failed\b`,
  ].join("|"),
);

/**
 * The exit code does not cover everything that the command runs: in a pipe or a sequence, only the last command's
 * counts.
 */
export const hidesExitCode = (command: string): boolean => /[|;\n]|&\s*$/.test(command);
const showsContent =
  /^\s*(?:cd\s[^&;\n]*(?:&&|;)\s*)?(?:cat|head|tail|less|grep|rg|ag|sed|awk|find|ls|jq|echo|git (?:-\S+ )*(?:log|show|diff|grep|blame)|gh (?:api|search|\S+ (?:view|list|diff|status|checks)))\b/;

import { decisionCharsMin, decisionsMax, detailsMax, lineCharsMax, errorLinesMax } from "../limits.ts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, textField } from "palimpsest/internal/schema/json";

/** The distinct identifiers and numbers in a text, which can't be guessed and must survive a paraphrase. */
export function findDetails(text: string): readonly string[] {
  const found = new Set<string>();
  for (const raw of text.split(/[\s"'`“”‘’()[\]{}<>,;|=]+/)) {
    const word = raw.replace(/[.:!?…*]+$/, "").replace(/^[*.:]+(?=\w)/, "");
    if (word.length <= lineCharsMax && (isNumber(word) || isIdentifier(word))) found.add(word);
    if (found.size === detailsMax) break;
  }
  return [...found];
}

/** A single digit does not count, because it often numbers the items of a list. */
const isNumber = (word: string): boolean => /^[#$€v~]?\d[\d.:%_-]*\d?[a-zA-Z%]{0,4}$/.test(word) && word.length > 1;

/** Paths, file names with an extension, camel and snake case, flags, and letters mixed with digits. */
const isIdentifier = (word: string): boolean =>
  /^(?:[~.]{0,2}\/)?[\w@.-]+(?:\/[\w@.-]+)+\/?$/.test(word) ||
  /^[\w-]+\.[a-z][a-z\d]{0,4}$/i.test(word) ||
  /^[A-Za-z]*[a-z\d][A-Z]\w*$/.test(word) ||
  /^\w*[A-Za-z\d]_[A-Za-z\d]\w*$/.test(word) ||
  /^--?[a-z][\w-]+$/i.test(word) ||
  /^(?=\w*[a-z])(?=\w*\d)\w{4,}$/i.test(word);

const decisionPattern =
  /\b(?:let'?s|decided?|agreed?|prefer|instead|rather than|must|should(?:n'?t)?|never|always|do not|don'?t|no longer|go with|stick (?:to|with)|keep|only|make sure|I want|we want|use)\b/i;

/** Pasted code contains no decisions. */
const fencedCodePattern = /^```[^]*?^```/gm;

/** The user's sentences that decide how something is to be done. */
export function findDecisions(text: string): readonly string[] {
  const sentences = text
    .replaceAll(fencedCodePattern, "\n")
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => toFactLine(sentence));
  const decisions = sentences.filter(
    (sentence) => sentence.length >= decisionCharsMin && decisionPattern.test(sentence),
  );
  return [...new Set(decisions)].slice(0, decisionsMax);
}

/** The user's answers to a question of the agent, in the form in which clients write them into the result. */
export const findAnswers = (result: string): readonly string[] =>
  [...result.matchAll(/"\s*=\s*"([^"\n]+)"/g)].flatMap(([, answer = ""]) =>
    answer === "" ? [] : [toFactLine(answer)],
  );

/** The user's comment when they rejected a call; undefined if the result is no rejection, empty if there is no comment. */
export function findObjection(result: string): string | undefined {
  if (!/^The user (?:doesn't want|rejected|denied|declined)/.test(result)) return undefined;
  return toFactLine(/\bthe user said:\s*([^\n]+)/.exec(result)?.[1] ?? "");
}

/** The text as one line with single spaces, cut if it is too long. */
export function toFactLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= lineCharsMax ? line : line.slice(0, lineCharsMax).toWellFormed().trimEnd();
}

/** Texts that clients write in the user's name begin with a tag or with a line in brackets. */
const clientTextPattern = /^\s*(?:<\/?[a-z]+(?:-[a-z]+)+>|\[Request interrupted)/;

/** The user's text in this entry, trimmed: a message, a text next to results, or one queued while the agent was working. */
export function userText(entry: Entry): string | undefined {
  if (entry.sidechain) return undefined;
  const text = findUserTexts(entry)
    .filter((part) => !clientTextPattern.test(part))
    .join("\n")
    .trim();
  return text === "" ? undefined : text;
}

function findUserTexts(entry: Entry): readonly string[] {
  switch (entry.kind) {
    case "user":
      if (entry.meta || entry.summary) return [];
      return entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
    case "attachment": {
      const { attachment } = entry;
      const isPrompt = (textField(attachment, "commandMode") ?? "prompt") === "prompt";
      if (textField(attachment, "type") !== "queued_command" || !isPrompt) return [];
      const prompt = field(attachment, "prompt");
      if (typeof prompt === "string") return [prompt];
      return isArray(prompt) ? prompt.flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : [])) : [];
    }
    case "assistant":
    case "edit":
    case "other":
      return [];
  }
}

export interface ResultInput {
  readonly text: string;
  /** Whether the tool reported a failure. */
  readonly failed: boolean;
  /** Whether the text is the output of a command or other content: only a command's output reports errors. */
  readonly of: "command" | "content";
}

/** The first lines in which a result reports errors. */
export function findErrorLines({ text, failed, of }: ResultInput): readonly string[] {
  const lines = text
    .replaceAll(clientTagPattern, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !neverRunPattern.test(line));
  const errorLines = failed || of === "command" ? lines.filter((line) => errorPattern.test(line)) : [];
  const chosen =
    errorLines.length > 0 ? errorLines : failed ? lines.filter((line) => /\w{3}/.test(line)).slice(0, 1) : [];
  return [...new Set(chosen.map(toFactLine))].filter((line) => line !== "").slice(0, errorLinesMax);
}

/** A client's note for a call that it did not run because another call of the same reply failed. The other call has its own result. */
const neverRunPattern = /^\s*Sibling tool call errored\s*$/;

/** Some clients wrap a tool's error in this tag. */
const clientTagPattern = /<\/?tool_use_error>/g;

const errorPattern = new RegExp(
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

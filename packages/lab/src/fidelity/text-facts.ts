import { decisionCharsMin, decisionsMax, detailsMax, lineCharsMax, errorLinesMax } from "../limits.ts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, textField } from "palimpsest/internal/schema/json";

/** Identifiers and numbers in a text, each once: what nobody can guess and no paraphrase may change. */
export function findDetails(text: string): readonly string[] {
  const found = new Set<string>();
  for (const raw of text.split(/[\s"'`“”‘’()[\]{}<>,;|=]+/)) {
    const word = raw.replace(/[.:!?…*]+$/, "").replace(/^[*.:]+(?=\w)/, "");
    if (word.length <= lineCharsMax && (isNumber(word) || isIdentifier(word))) found.add(word);
    if (found.size === detailsMax) break;
  }
  return [...found];
}

/** One digit alone counts items of a list. */
const isNumber = (word: string): boolean => /^[#$€v~]?\d[\d.:%_-]*\d?[a-zA-Z%]{0,4}$/.test(word) && word.length > 1;

/** Paths, names with an ending, camel and snake case, flags, and letters mixed with digits. */
const isIdentifier = (word: string): boolean =>
  /^(?:[~.]{0,2}\/)?[\w@.-]+(?:\/[\w@.-]+)+\/?$/.test(word) ||
  /^[\w-]+\.[a-z][a-z\d]{0,4}$/i.test(word) ||
  /^[A-Za-z]*[a-z\d][A-Z]\w*$/.test(word) ||
  /^\w*[A-Za-z\d]_[A-Za-z\d]\w*$/.test(word) ||
  /^--?[a-z][\w-]+$/i.test(word) ||
  /^(?=\w*[a-z])(?=\w*\d)\w{4,}$/i.test(word);

const decisionPattern =
  /\b(?:let'?s|decided?|agreed?|prefer|instead|rather than|must|should(?:n'?t)?|never|always|do not|don'?t|no longer|go with|stick (?:to|with)|keep|only|make sure|I want|we want|use)\b/i;

/** Code that somebody pasted settles nothing. */
const fencedCodePattern = /^```[^]*?^```/gm;

/** Sentences of a person that settle how something is to be done. */
export function findDecisions(text: string): readonly string[] {
  const sentences = text
    .replaceAll(fencedCodePattern, "\n")
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => toFactLine(sentence));
  const found = sentences.filter((one) => one.length >= decisionCharsMin && decisionPattern.test(one));
  return [...new Set(found)].slice(0, decisionsMax);
}

/** What a person answered to a question of the agent, as clients put it into the result. */
export const findAnswers = (result: string): readonly string[] =>
  [...result.matchAll(/"\s*=\s*"([^"\n]+)"/g)].flatMap(([, answer = ""]) =>
    answer === "" ? [] : [toFactLine(answer)],
  );

/** What a person said where they did not let a call happen; undefined where it is no such result, blank where they said nothing. */
export function findObjection(result: string): string | undefined {
  if (!/^The user (?:doesn't want|rejected|denied|declined)/.test(result)) return undefined;
  return toFactLine(/\bthe user said:\s*([^\n]+)/.exec(result)?.[1] ?? "");
}

/** As a fact of one line: blanks made one, cut where it gets long. */
export function toFactLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= lineCharsMax ? line : line.slice(0, lineCharsMax).toWellFormed().trimEnd();
}

/** What clients write in a person's name begins with a tag of theirs, or a line in brackets. */
const clientTextPattern = /^\s*(?:<\/?[a-z]+(?:-[a-z]+)+>|\[Request interrupted)/;

/** What a person said in this entry, trimmed: as a message, beside results, or while the agent was at work. */
export function userText(entry: Entry): string | undefined {
  if (entry.sidechain) return undefined;
  const said = findUserTexts(entry)
    .filter((one) => !clientTextPattern.test(one))
    .join("\n")
    .trim();
  return said === "" ? undefined : said;
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
  /** The tool itself said that it failed. */
  readonly failed: boolean;
  /** Whether its text is what something said that ran, or content: only what ran tells of errors. */
  readonly of: "command" | "content";
}

/** The lines by which a result says that something went wrong, the first ones. */
export function findErrorLines({ text, failed, of }: ResultInput): readonly string[] {
  const lines = text
    .replaceAll(clientTagPattern, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !neverRunPattern.test(line));
  const telling = failed || of === "command" ? lines.filter((line) => errorPattern.test(line)) : [];
  const chosen = telling.length > 0 ? telling : failed ? lines.filter((line) => /\w{3}/.test(line)).slice(0, 1) : [];
  return [...new Set(chosen.map(toFactLine))].filter((line) => line !== "").slice(0, errorLinesMax);
}

/** A client's remark on a call that it did not make, since another of the same reply failed: that one has a result of its own. */
const neverRunPattern = /^\s*Sibling tool call errored\s*$/;

/** Some clients put what a tool refused into a tag of theirs. */
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

import { decisionCharsMin, decisionsMax, detailsMax, lineCharsMax } from "./limits.ts";

/** Identifiers and numbers in a text, each once: what nobody can guess and no paraphrase may change. */
export function detailsIn(text: string): readonly string[] {
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

const deciding =
  /\b(?:let'?s|decided?|agreed?|prefer|instead|rather than|must|should(?:n'?t)?|never|always|do not|don'?t|no longer|go with|stick (?:to|with)|keep|only|make sure|I want|we want|use)\b/i;

/** Code that somebody pasted settles nothing. */
const fenced = /^```[^]*?^```/gm;

/** Sentences of a person that settle how something is to be done. */
export function decisionsIn(text: string): readonly string[] {
  const sentences = text
    .replaceAll(fenced, "\n")
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => oneLine(sentence));
  const found = sentences.filter((one) => one.length >= decisionCharsMin && deciding.test(one));
  return [...new Set(found)].slice(0, decisionsMax);
}

/** What a person answered to a question of the agent, as clients put it into the result. */
export const answersIn = (result: string): readonly string[] =>
  [...result.matchAll(/"\s*=\s*"([^"\n]+)"/g)].flatMap(([, answer = ""]) => (answer === "" ? [] : [oneLine(answer)]));

/** What a person said where they did not let a call happen; undefined where it is no such result, blank where they said nothing. */
export function objectionIn(result: string): string | undefined {
  if (!/^The user (?:doesn't want|rejected|denied|declined)/.test(result)) return undefined;
  return oneLine(/\bthe user said:\s*([^\n]+)/.exec(result)?.[1] ?? "");
}

/** As a fact of one line: blanks made one, cut where it gets long. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= lineCharsMax ? line : line.slice(0, lineCharsMax).toWellFormed().trimEnd();
}

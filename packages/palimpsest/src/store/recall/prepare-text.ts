import type { RecallText } from "../../ports/recall-index.ts";
import { splitPassages } from "../../recall/split-passages.ts";
import { passageStems } from "../../recall/stem.ts";
import { collectTerms, eachTerm, type Term } from "../../recall/term.ts";

/** A text as the index stores it, with everything that takes time already done. */
export interface PreparedText extends Omit<RecallText, "text"> {
  readonly passages: readonly PreparedPassage[];
}

export interface PreparedPassage {
  /** Where it begins in its text. */
  readonly from: number;
  readonly text: string;
  /** Separated by spaces, as the tokenizer of the index takes them. */
  readonly terms: string;
  readonly stems: string;
  readonly termCount: number;
  readonly stemCount: number;
}

/** A passage at a time, so that the caller can pause in a long text. */
export function* preparePassages({ kind, text }: Pick<RecallText, "kind" | "text">): Generator<PreparedPassage> {
  const speaker = speakerByKind[kind];
  for (const { from, to } of splitPassages(text)) {
    const terms: string[] = [];
    eachTerm({ text, from, to }, (term) => terms.push(termToken(term)));
    const passage = text.slice(from, to);
    const stems = passageStems({ speaker, text: passage });
    yield {
      from,
      text: passage,
      terms: terms.join(" "),
      stems: stems.join(" "),
      termCount: terms.length,
      stemCount: stems.length,
    };
  }
}

/** A term as a word of letters and digits. */
export function termToken(term: Term): string {
  const known = tokenByTerm.get(term);
  if (known !== undefined) return known;
  const token = (term >>> 0).toString(36);
  if (tokenByTerm.size >= tokensKeptMax) tokenByTerm.clear();
  tokenByTerm.set(term, token);
  return token;
}

/** Words repeat, and writing a number costs more than looking it up. */
const tokenByTerm = new Map<Term, string>();
const tokensKeptMax = 50_000;

/** The terms of a text, separated by spaces. */
export const tokenize = (text: string): string =>
  collectTerms(text)
    .map((term) => termToken(term))
    .join(" ");

/** What a filter asks for, as words of the index. `results` belong to the call that they answer. */
export function facetTokens({
  kind,
  tool,
  files = [],
}: {
  readonly kind: string;
  readonly tool: string | undefined;
  readonly files: readonly string[] | undefined;
}): readonly string[] {
  return [
    kindToken(kind),
    ...(tool === undefined ? [] : [toolToken(tool)]),
    ...new Set(files.flatMap((file) => fileTokens(file))),
  ];
}

export const kindToken = (kind: string): string => `k${kind.replaceAll(/[^a-z]/g, "")}`;

export const toolToken = (tool: string): string =>
  `t${collectTerms(tool.toLowerCase())
    .map((term) => termToken(term))
    .join("")}`;

/** By segment, so that a part of a path finds the whole. */
export const fileTokens = (path: string): readonly string[] =>
  path.split(/[/\\]/).flatMap((segment) => collectTerms(segment).map((term) => `f${termToken(term)}`));

/** Who speaks in a text, in the words of the ranker. */
export const speakerByKind: Readonly<Record<RecallText["kind"], string>> = {
  user: "user",
  meta: "tool",
  reply: "assistant",
  thinking: "assistant",
  call: "assistant",
  result: "tool",
  summary: "assistant",
  attachment: "tool",
  "stand-in": "assistant",
  notes: "assistant",
  memory: "assistant",
};

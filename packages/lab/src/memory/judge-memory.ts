import type { ProjectSession } from "./project-session.ts";
import { readSentences, readTerms, sharedPart } from "./terms.ts";
import { textField } from "palimpsest/internal/schema/json";

/** A memory as the judge sees it: the body without front matter. */
export interface JudgedMemory {
  readonly path: string;
  readonly body: string;
  /** The index of the session in which it was written last. */
  readonly session: number;
}

/** Whether a text says what the user said, in whatever words: most of the terms are in it. */
export function holdsText(text: string, said: string): boolean {
  const terms = readTerms(said);
  return terms.size > 0 && sharedPart(terms, readTerms(text)) >= heldShareMin;
}

const heldShareMin = 0.7;

/** What the user and the agent said in sessions, as runs of three words. */
export class SaidRuns {
  readonly #runs = new Set<string>();
  readonly #words = new Set<string>();

  add({ recording: { rounds } }: ProjectSession): void {
    for (const { before, reply } of rounds)
      for (const entry of [...before, ...reply]) {
        if (entry.kind === "user" || entry.kind === "assistant")
          for (const block of entry.blocks) if (block.type === "text") this.#addText(block.text);
        if (entry.kind === "attachment") this.#addText(textField(entry.attachment, "prompt") ?? "");
      }
  }

  #addText(text: string): void {
    const words = splitWords(text);
    for (const word of words) this.#words.add(word);
    for (const run of runsIn(words)) this.#runs.add(run);
  }

  /** Whether every sentence of a memory stands in what was said: most of its runs of words, or all words of a short one. */
  bears(body: string): boolean {
    return body
      .split(/\n+|(?<=[.!?])\s+/)
      .map((sentence) => splitWords(sentence))
      .filter((words) => words.length > 0)
      .every((words) => {
        const runs = runsIn(words);
        if (runs.length === 0) return words.every((word) => this.#words.has(word));
        return runs.filter((run) => this.#runs.has(run)).length / runs.length >= bornShareMin;
      });
  }
}

const bornShareMin = 0.6;

const splitWords = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}_./@-]*[\p{L}\p{N}]/gu) ?? [];

const runsIn = (words: readonly string[]): readonly string[] =>
  words.slice(2).map((word, at) => `${words[at] ?? ""} ${words[at + 1] ?? ""} ${word}`);

/** What became of things after a memory was written, from the sessions up to one. */
export interface LaterEvents {
  /** Sentences of the user. */
  readonly said: readonly { readonly session: number; readonly text: string }[];
  /** Files that a command removed or moved away. */
  readonly removed: readonly { readonly session: number; readonly path: string }[];
}

export function collectEvents(sessions: readonly ProjectSession[]): LaterEvents {
  return {
    said: sessions.flatMap(({ said }, session) =>
      said.flatMap(({ text }) => readSentences(text).map((sentence) => ({ session, text: sentence }))),
    ),
    removed: sessions.flatMap(({ recording }, session) =>
      recording.rounds
        .flatMap(({ reply }) => reply.flatMap(({ blocks }) => blocks))
        .flatMap((block) => (block.type === "tool_use" ? findRemoved(textField(block.input, "command") ?? "") : []))
        .map((path) => ({ session, path })),
    ),
  };
}

/** Paths after `rm`, `git rm` and the first one after `mv`. */
const findRemoved = (command: string): readonly string[] =>
  [...command.matchAll(/(?:^|[;&|]\s*|\n\s*)(?:git\s+)?(rm|mv)\s+([^;&|\n]+)/g)].flatMap(([, verb, rest = ""]) => {
    const paths = rest.split(/\s+/).filter((word) => !word.startsWith("-") && /[./]/.test(word));
    return verb === "mv" ? paths.slice(0, 1) : paths;
  });

/** `contradicted`: the user said the opposite later. `gone`: it names a file that was removed later. */
export function findStaleness(
  memory: JudgedMemory,
  { said, removed }: LaterEvents,
): "contradicted" | "gone" | undefined {
  const names = memory.body.match(/[\w@.-]*\/[\w@./-]+\.\w+|[\w-]+\.[a-z]{1,5}\b/g) ?? [];
  const isGone = removed.some(
    ({ session, path }) => session > memory.session && names.some((name) => path === name || path.endsWith(`/${name}`)),
  );
  if (isGone) return "gone";
  const sentences = readSentences(memory.body);
  const isContradicted = said.some(
    ({ session, text }) => session > memory.session && sentences.some((sentence) => isOpposite(sentence, text)),
  );
  return isContradicted ? "contradicted" : undefined;
}

/** About the same thing, and only one of them forbids it. */
function isOpposite(sentence: string, later: string): boolean {
  if (forbids.test(sentence) === forbids.test(later)) return false;
  const [terms, laterTerms] = [readTerms(sentence), readTerms(later)];
  return (
    terms.intersection(laterTerms).size >= 2 &&
    sharedPart(terms, laterTerms) >= oppositeShareMin &&
    sharedPart(laterTerms, terms) >= oppositeShareMin
  );
}

const forbids =
  /\b(?:no|not|never|don'?t|do not|stop|without|no longer|shouldn'?t|mustn'?t|remove[ds]?|drop(?:ped)?)\b/i;
const oppositeShareMin = 0.7;

/** Whether two memories say the same. */
export function saysSame(body: string, other: string): boolean {
  if (forbids.test(body) !== forbids.test(other)) return false;
  const [terms, others] = [readTerms(body), readTerms(other)];
  return terms.size > 1 && Math.min(sharedPart(terms, others), sharedPart(others, terms)) >= sameShareMin;
}

const sameShareMin = 0.8;

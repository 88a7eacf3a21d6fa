import type { ProjectSession } from "./project-session.ts";
import { readSentences, readTerms } from "./terms.ts";

/** Something that the user said in one session and had to say again in a later one. */
export interface LaterFact {
  readonly text: string;
  /** The index of the session in which it was said first, and of the first later one in which it came up again. */
  readonly session: number;
  readonly neededIn: number;
  /** The later message. */
  readonly again: string;
}

/**
 * Finds what the user said again in a later session: a sentence of which so many words stand in one sentence of a later
 * message, two of them seldom used in this project. It knows no wording of rules or corrections, only what came of it.
 */
export function findLaterFacts(sessions: readonly ProjectSession[]): readonly LaterFact[] {
  const sentences = sessions.map(({ said }) => said.flatMap(({ text }) => readSaid(text)));
  const rarity = measureRarity(sessions);
  return sentences.flatMap((own, session) => {
    const found = new Map<string, LaterFact>();
    for (const fact of own) {
      if (found.has(fact.sentence)) continue;
      const again = sentences
        .slice(session + 1)
        .flatMap((later, at) => later.map((other) => ({ other, neededIn: session + 1 + at })))
        .find(({ other }) => isSaidAgain(fact.terms, other.terms, rarity));
      if (again === undefined) continue;
      const { neededIn, other } = again;
      found.set(fact.sentence, { text: fact.sentence, session, neededIn, again: other.message });
    }
    return [...found.values()];
  });
}

interface SaidSentence {
  readonly sentence: string;
  readonly terms: ReadonlySet<string>;
  readonly message: string;
}

const readSaid = (message: string): readonly SaidSentence[] =>
  readSentences(message).map((sentence) => ({ sentence, terms: readTerms(sentence), message }));

type IsRare = (term: string) => boolean;

/** A term is rare if few of the user's messages have it. */
function measureRarity(sessions: readonly ProjectSession[]): IsRare {
  const messages = sessions.flatMap(({ said }) => said.map(({ text }) => readTerms(readSentences(text).join("\n"))));
  const countByTerm = new Map<string, number>();
  for (const terms of messages) for (const term of terms) countByTerm.set(term, (countByTerm.get(term) ?? 0) + 1);
  const countMax = Math.max(3, rareShareMax * messages.length);
  return (term) => (countByTerm.get(term) ?? 0) <= countMax;
}

const rareShareMax = 0.06;

function isSaidAgain(terms: ReadonlySet<string>, later: ReadonlySet<string>, isRare: IsRare): boolean {
  const shared = terms.intersection(later);
  if (shared.size < 2 || shared.size / later.size < laterShareMin) return false;
  const rare = [...shared].filter(isRare).length;
  const share = shared.size / terms.size;
  return (rare >= 2 && share >= 0.5) || (rare >= 3 && share >= 0.34);
}

/** A long later sentence shares a few words with everything. */
const laterShareMin = 0.25;

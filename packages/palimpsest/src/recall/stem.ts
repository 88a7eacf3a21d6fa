import { stemWord } from "../text/stem-word.ts";

/**
 * The stems of a text: what is left of English words when their forms are taken away (`went`, `goes`, `going` → `go`). The
 * index keeps the stream beside the terms of `term.ts`, and a query is stemmed the same way, so both agree.
 */
export function stemText(text: string): string[] {
  const stems: string[] = [];
  for (const [word] of normalizeText(text).matchAll(wordPattern)) {
    if (stopWords.has(word)) continue;
    const apostrophe = word.indexOf("'");
    const bare = apostrophe === -1 ? word : word.slice(0, apostrophe);
    if (apostrophe !== -1 && stopWords.has(bare)) continue;
    stems.push(stemWord(bare));
  }
  return stems;
}

/**
 * The stems by which a passage is found. The name of a person is a word of what the person says; a role is not. A result
 * has the words of its call.
 */
export function passageStems({
  speaker,
  text,
  call = "",
}: {
  readonly speaker: string;
  readonly text: string;
  readonly call?: string | undefined;
}): string[] {
  return stemText(`${roles.has(speaker) ? "" : speaker}\n${call}\n${text}`);
}

/** The distinct stems, in the order in which they first occur. */
export function queryStems(query: string): readonly string[] {
  return [...new Set(stemText(query))];
}

/** Speakers that are no people. */
export const roles: ReadonlySet<string> = new Set(["user", "assistant", "tool"]);

const wordPattern = /[a-z0-9]+(?:'[a-z]+)?/g;

/** Lower case, straight apostrophes, no accents. */
const normalizeText = (text: string): string => {
  const lower = text.toLowerCase();
  // oxlint-disable-next-line no-control-regex
  if (!/[^\u0000-\u007f]/.test(lower)) return lower;
  return lower
    .replaceAll(/[\u2018\u2019\u02bc\u0060\u00b4]/g, "'")
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036f]/g, "");
};

const words = (written: string): string[] => written.trim().split(/\s+/);

/** Words that say nothing about what a passage is about, question words among them. */
const stopWords: ReadonlySet<string> = new Set(
  words(`a an the and or but if of at by for with about to from in on as is are was were be been being am do does did doing
    have has had having i me my you your he him his she her it its we us our they them their this that these those
    what when where which who whom why how so than then there here will would can could should may might must not no
    i'm i've i'd i'll it's that's don't didn't doesn't isn't wasn't s t`),
);

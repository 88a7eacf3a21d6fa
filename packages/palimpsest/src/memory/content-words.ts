import { stemWord } from "../text/stem-word.ts";

/** The words of a text that say what it is about. */
export const contentWords = (text: string): readonly string[] => splitWords(text).filter((word) => !isEmptyWord(word));

/** Whether a word of `splitWords` says nothing about where a text came from. */
export const isEmptyWord = (word: string): boolean => emptyWords.has(word);

/** Whether a word of `splitWords` is a pair of characters of a script without spaces. */
export const isUnspaced = (word: string): boolean => unspacedForm.test(word);

/** In lower case, as stems. Scripts without spaces yield each pair of adjacent characters. */
export function splitWords(text: string): readonly string[] {
  return (text.normalize("NFKC").toLowerCase().match(wordForm) ?? []).flatMap((word) => {
    if (!unspacedForm.test(word)) return word.length === 1 && !/\d/.test(word) ? [] : [stemWord(word)];
    const chars = Array.from(word);
    return chars.length === 1 ? chars : chars.slice(1).map((char, at) => `${chars[at]}${char}`);
  });
}

const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const wordForm = new RegExp(String.raw`[${unspaced}]+|(?:(?![${unspaced}])[\p{L}\p{N}\p{M}])+`, "gu");
const unspacedForm = new RegExp(`^[${unspaced}]`, "u");

/** They tell nothing about where a text came from: words of every English sentence, and of every note about a user. */
const emptyWords: ReadonlySet<string> = new Set(
  (
    "the an and or but if then than so as at by for from in into of on off to up with without about over under after before " +
    "is are was were be been being do does did done has have had having can could should would will may might must shall " +
    "it its this that these those there here he she they them their his her we us our you your me my mine who whom which " +
    "what when where why how not no yes also just only very more most such other some any each all both own same too " +
    "user users prefers prefer preference wants want likes asked asks said says told wishes memory memories remember note " +
    "notes project session apply applies reason because description name type feedback reference use uses make makes keep get"
  )
    .split(" ")
    .map(stemWord),
);

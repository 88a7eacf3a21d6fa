/**
 * Porter's stemmer (1980) for English words in lower case: `running` and `runs` become `run`. A word is seen as
 * [C](VC)^m[V], runs of consonants and vowels; m, its measure, says how much of it is left before a suffix.
 */
export function porterStem(word: string): string {
  if (word.length <= 2 || !/^[a-z]+$/.test(word)) return word;
  let stem = cutPlural(word);
  stem = cutPast(stem);
  if (stem.endsWith("y") && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = replaceSuffix(stem, { rules: doubleSuffixes, measureMin: 1 });
  stem = replaceSuffix(stem, { rules: fullSuffixes, measureMin: 1 });
  stem = cutSuffix(stem);
  return cutLastLetter(stem);
}

/** Step 1a. */
function cutPlural(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

/** Step 1b. */
function cutPast(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const suffix = ["ed", "ing"].find((one) => word.endsWith(one));
  if (suffix === undefined) return word;
  const stem = word.slice(0, -suffix.length);
  if (!hasVowel(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (endsInDoubleConsonant(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsInShortSyllable(stem) ? `${stem}e` : stem;
}

type SuffixRules = readonly (readonly [suffix: string, replacement: string])[];

const rulesFrom = (written: string): SuffixRules =>
  written
    .split(" ")
    .map((rule): [string, string] => {
      const [suffix = "", replacement = ""] = rule.split(">");
      return [suffix, replacement];
    })
    .toSorted(([left], [right]) => right.length - left.length);

/** Step 2. */
const doubleSuffixes = rulesFrom(
  "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log",
);
/** Step 3. */
const fullSuffixes = rulesFrom("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>");
/** Step 4. */
const restSuffixes = rulesFrom(
  "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> ize>",
);

function replaceSuffix(
  word: string,
  { rules, measureMin }: { readonly rules: SuffixRules; readonly measureMin: number },
): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix));
  if (rule === undefined) return word;
  const stem = word.slice(0, -rule[0].length);
  return measure(stem) >= measureMin ? stem + rule[1] : word;
}

function cutSuffix(word: string): string {
  if (word.endsWith("ion") && !/[st]ion$/.test(word)) return word;
  return replaceSuffix(word, { rules: restSuffixes, measureMin: 2 });
}

/** Step 5. */
function cutLastLetter(word: string): string {
  let stem = word;
  if (stem.endsWith("e")) {
    const rest = stem.slice(0, -1);
    const length = measure(rest);
    if (length > 1 || (length === 1 && !endsInShortSyllable(rest))) stem = rest;
  }
  return stem.endsWith("ll") && measure(stem) > 1 ? stem.slice(0, -1) : stem;
}

/** `y` is a vowel after a consonant. */
function isConsonant(word: string, at: number): boolean {
  const letter = word[at] ?? "";
  if ("aeiou".includes(letter)) return false;
  return letter !== "y" || at === 0 || !isConsonant(word, at - 1);
}

/** How often a vowel is followed by a consonant. */
function measure(stem: string): number {
  let count = 0;
  let isBehindVowel = false;
  for (let at = 0; at < stem.length; at += 1) {
    const consonant = isConsonant(stem, at);
    if (consonant && isBehindVowel) count += 1;
    isBehindVowel = !consonant;
  }
  return count;
}

function hasVowel(stem: string): boolean {
  for (let at = 0; at < stem.length; at += 1) if (!isConsonant(stem, at)) return true;
  return false;
}

function endsInDoubleConsonant(stem: string): boolean {
  const last = stem.length - 1;
  return last > 0 && stem[last] === stem[last - 1] && isConsonant(stem, last);
}

/** Consonant, vowel, consonant, the last one not w, x or y: `hop`, but not `show`. */
function endsInShortSyllable(stem: string): boolean {
  const last = stem.length - 1;
  if (last < 2 || !isConsonant(stem, last - 2) || isConsonant(stem, last - 1) || !isConsonant(stem, last)) return false;
  return !/[wxy]$/.test(stem);
}
